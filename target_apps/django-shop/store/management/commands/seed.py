"""`manage.py seed`: the same shop every time, and a customer who is logged in."""

import io
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from random import Random

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.sessions.backends.cache import KEY_PREFIX
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.management.base import BaseCommand
from django.db import connection, transaction
from PIL import Image

from store.models import Category, Order, OrderLine, Product, Review

CATEGORIES, PRODUCTS, CUSTOMERS, REVIEWS, ORDERS, PHOTOS = 40, 20_000, 200, 60_000, 5_000, 20
BATCH = 2_000
SESSION = "loadtestloadtestloadtestloadtest"
PASSWORD = "only-for-measuring"

KINDS = "Lamp Chair Desk Shelf Sofa Rug Clock Mirror Vase Bench Stool Cabinet Bed Curtain Pillow Basket".split()
LOOKS = "Oak Walnut Steel Linen Cotton Glass Cork Marble Bamboo Copper Wool Ash Brass Clay Velvet Stone".split()
WORDS = "sturdy light plain warm well made quiet easy to clean fits small rooms lasts for years came in two days".split()
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Command(BaseCommand):
    help = "Fill an empty shop with generated data"

    def handle(self, *args, **options):
        if not Category.objects.exists():
            with transaction.atomic():
                fill(Random(1))
        # Without it, PostgreSQL would gather its statistics at a moment of its own choice, in the middle of a window.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        log_in(User.objects.get(username="customer1"))
        self.stdout.write(f"{Product.objects.count()} products, {Review.objects.count()} reviews")


def fill(random):
    names = [f"{LOOKS[n % 16]} {KINDS[n // 16 * 5 % 16]}s" for n in range(CATEGORIES)]
    categories = Category.objects.bulk_create(
        Category(name=name, slug=f"category-{n}") for n, name in enumerate(names, 1)
    )
    products = Product.objects.bulk_create(
        (a_product(random, number, categories) for number in range(1, PRODUCTS + 1)), BATCH
    )
    password = make_password(PASSWORD)
    customers = User.objects.bulk_create(
        User(username=f"customer{number}", password=password) for number in range(1, CUSTOMERS + 1)
    )
    photo = a_photo()
    Review.objects.bulk_create(
        (a_review(random, n, products, customers, photo) for n in range(REVIEWS)), BATCH
    )
    orders = Order.objects.bulk_create(
        (Order(customer=random.choice(customers), created=moment(random)) for _ in range(ORDERS)), BATCH
    )
    OrderLine.objects.bulk_create(
        (a_line(random, order, products) for order in orders for _ in range(random.randint(1, 5))), BATCH
    )


def a_product(random, number, categories):
    return Product(
        category=random.choice(categories),
        name=f"{random.choice(LOOKS)} {random.choice(KINDS)} {number}",
        description=sentence(random, 60),
        price=Decimal(random.randint(500, 90_000)) / 100,
        created=START + timedelta(minutes=number),
    )


def a_review(random, number, products, customers, photo):
    review = Review(
        product=random.choice(products),
        author=random.choice(customers),
        rating=random.choice([1, 2, 3, 4, 4, 5, 5, 5]),
        text=sentence(random, 30),
        created=moment(random),
    )
    if number < PHOTOS:
        review.photo.save(f"photo-{number}.jpg", ContentFile(photo), save=False)
    return review


def a_line(random, order, products):
    product = random.choice(products)
    return OrderLine(order=order, product=product, quantity=random.randint(1, 3), price=product.price)


def a_photo():
    file = io.BytesIO()
    Image.radial_gradient("L").resize((640, 480)).save(file, "JPEG")
    return file.getvalue()


def sentence(random, words):
    return " ".join(random.choices(WORDS, k=words)).capitalize() + "."


def moment(random):
    return START + timedelta(seconds=random.randint(0, 200 * 86_400))


def log_in(user):
    """A session under a known name, so that a load generator needs no login of its own."""
    session = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    cache.set(KEY_PREFIX + SESSION, session, timeout=None)
