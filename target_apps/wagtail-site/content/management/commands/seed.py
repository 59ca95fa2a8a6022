"""`manage.py seed`: the same 200 pages every time, and an editor for /admin/."""

import uuid
from datetime import date, timedelta
from random import Random

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand
from django.db import connection, transaction
from wagtail.models import Page, Site

from content.models import ArticlePage, SectionPage

PAGES, SECTIONS, TOPICS = 200, 7, 28
WORDS = "council river school market garden bridge library opens plans harbour music winter vote street train new old".split()


class Command(BaseCommand):
    help = "Fill an empty site with generated pages"

    def handle(self, *args, **options):
        if not SectionPage.objects.exists():
            with transaction.atomic():
                fill(Random(1))
                User.objects.create_superuser("editor", password="only-for-measuring")
        # Without it, PostgreSQL would gather its statistics at a moment of its own choice, in the middle of a window.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
        self.stdout.write(f"{Page.objects.filter(depth__gt=1).count()} pages")


def fill(random):
    """Home, sections, topics below them, and articles below those."""
    root = Page.objects.get(depth=1)
    for welcome in root.get_children():
        welcome.delete()
    root.refresh_from_db()
    home = root.add_child(instance=a_section(random, "home"))
    Site.objects.create(hostname="site.example", root_page=home, is_default_site=True)
    sections = [home.add_child(instance=a_section(random, f"section-{n}")) for n in range(SECTIONS)]
    topics = [
        sections[n % SECTIONS].add_child(instance=a_section(random, f"topic-{n}")) for n in range(TOPICS)
    ]
    for number in range(PAGES - 1 - SECTIONS - TOPICS):
        topics[number % TOPICS].add_child(instance=an_article(random, number, topics))


def a_section(random, slug):
    return SectionPage(
        title=slug.replace("-", " ").capitalize(), slug=slug, show_in_menus=True, intro=paragraph(random)
    )


def an_article(random, number, topics):
    link = f'<p>See <a linktype="page" id="{random.choice(topics).pk}">more</a>.</p>'
    blocks = [("heading", sentence(random, 5)), ("quote", sentence(random, 20))]
    blocks += [("paragraph", paragraph(random) + link) for _ in range(4)]
    # Without an id, each rendering would draw another one.
    body = [{"type": kind, "value": value, "id": str(uuid.UUID(int=random.getrandbits(128)))} for kind, value in blocks]
    return ArticlePage(
        title=sentence(random, 6),
        slug=f"article-{number}",
        date=date(2026, 1, 1) + timedelta(days=number),
        body=body,
    )


def paragraph(random):
    return f"<p>{sentence(random, 40)} <b>{sentence(random, 5)}</b> {sentence(random, 40)}</p>"


def sentence(random, words):
    return " ".join(random.choices(WORDS, k=words)).capitalize() + "."
