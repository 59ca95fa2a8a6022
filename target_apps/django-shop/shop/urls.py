from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from store import views

urlpatterns = [
    path("", views.home, name="home"),
    path("categories/<slug:slug>/", views.category, name="category"),
    path("products/<int:pk>/", views.product, name="product"),
    path("products/<int:pk>/reviews/", views.review, name="review"),
    path("orders/", views.orders, name="orders"),
    path("login/", LoginView.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("health/", views.health, name="health"),
]
