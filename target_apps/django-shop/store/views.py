from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Avg, Count, F, Max, Min, Sum
from django.db.models.functions import Abs
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from store.forms import OrderForm, ReviewForm
from store.models import Category, Order, Product

BY = {"name": "name", "price": "price", "stars": "-stars"}
PER_PAGE = 24
CATEGORIES_AGE_S = 60
LATEST_ORDERS = 20


@require_GET
def home(request):
    """All categories, from the cache where they are in it, and the newest products."""
    newest = Product.objects.select_related("category").order_by("-created")[:12]
    categories = cache.get_or_set("categories", _categories, CATEGORIES_AGE_S)
    return render(request, "home.html", {"categories": categories, "newest": newest})


def _categories():
    counted = Category.objects.annotate(size=Count("products"), cheapest=Min("products__price"))
    return list(counted.order_by("name"))


@require_GET
def category(request, slug):
    """One page of a category: `?sort=name|price|stars&page=2`."""
    found = get_object_or_404(Category, slug=slug)
    prices = found.products.aggregate(lowest=Min("price"), highest=Max("price"))
    rated = found.products.annotate(stars=Avg("reviews__rating"), raters=Count("reviews"))
    order = BY.get(request.GET.get("sort"), "name")
    page = Paginator(rated.order_by(order, "pk"), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "category.html", {"category": found, "prices": prices, "page": page})


@require_GET
def product(request, pk):
    found = get_object_or_404(Product.objects.select_related("category"), pk=pk)
    return _product_page(request, found, ReviewForm())


def _product_page(request, found, form, status=200):
    near = found.category.products.exclude(pk=found.pk).order_by(Abs(F("price") - found.price))
    context = {
        "product": found,
        "related": near[:4],
        "rated": found.reviews.aggregate(stars=Avg("rating"), raters=Count("pk")),
        "reviews": found.reviews.select_related("author").order_by("-created")[:10],
        "form": form,
    }
    return render(request, "product.html", context, status=status)


@login_required
@require_POST
def review(request, pk):
    """Store a review, with a photo if there is one."""
    found = get_object_or_404(Product.objects.select_related("category"), pk=pk)
    form = ReviewForm(request.POST, request.FILES)
    if not form.is_valid():
        return _product_page(request, found, form, status=422)
    form.instance.product, form.instance.author = found, request.user
    form.save()
    return redirect(found)


@login_required
@require_http_methods(["GET", "POST"])
def orders(request):
    """GET: the customer's latest orders as JSON. POST: order one product."""
    if request.method == "GET":
        return JsonResponse({"orders": _latest_orders(request.user)})
    form = OrderForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"errors": form.errors}, status=422)
    with transaction.atomic():
        line = form.save(commit=False)
        line.order = Order.objects.create(customer=request.user)
        line.price = line.product.price
        line.save()
    return redirect("orders")


def _latest_orders(customer):
    totalled = customer.orders.annotate(total=Sum(F("lines__price") * F("lines__quantity")))
    latest = totalled.prefetch_related("lines__product").order_by("-created")[:LATEST_ORDERS]
    return [
        {
            "id": order.pk,
            "created": order.created,
            "total": order.total,
            "lines": [
                {"product": line.product.name, "quantity": line.quantity, "price": line.price}
                for line in order.lines.all()
            ],
        }
        for order in latest
    ]


@require_GET
def health(request):
    """Ready once the tables are there."""
    Category.objects.exists()
    return HttpResponse("ok")
