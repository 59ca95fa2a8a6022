from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.urls import reverse
from django.utils import timezone


class Category(models.Model):
    name = models.CharField(max_length=80)
    slug = models.SlugField(unique=True)

    def get_absolute_url(self):
        return reverse("category", args=[self.slug])


class Product(models.Model):
    category = models.ForeignKey(Category, models.PROTECT, related_name="products")
    name = models.CharField(max_length=120)
    description = models.TextField()
    price = models.DecimalField(max_digits=8, decimal_places=2)
    created = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        indexes = [models.Index(fields=["category", "price"])]

    def get_absolute_url(self):
        return reverse("product", args=[self.pk])


class Review(models.Model):
    product = models.ForeignKey(Product, models.CASCADE, related_name="reviews")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    rating = models.PositiveSmallIntegerField(validators=[MinValueValidator(1), MaxValueValidator(5)])
    text = models.TextField(max_length=2000)
    photo = models.ImageField(upload_to="reviews", blank=True)
    created = models.DateTimeField(default=timezone.now)


class Order(models.Model):
    customer = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="orders")
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["customer", "-created"])]


class OrderLine(models.Model):
    order = models.ForeignKey(Order, models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, models.PROTECT)
    quantity = models.PositiveIntegerField(validators=[MinValueValidator(1), MaxValueValidator(99)])
    price = models.DecimalField(max_digits=8, decimal_places=2)
