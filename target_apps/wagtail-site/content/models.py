from django.core.paginator import Paginator
from django.db import models
from wagtail import blocks
from wagtail.admin.panels import FieldPanel
from wagtail.fields import RichTextField, StreamField
from wagtail.models import Page, Site
from wagtail.search import index

PER_PAGE = 5


class _InSite(Page):
    """A page with the site's menu and the way to it."""

    class Meta:
        abstract = True

    def get_context(self, request):
        home = Site.find_for_request(request).root_page
        return super().get_context(request) | {
            "menu": home.get_children().live().in_menu(),
            "way": self.get_ancestors().filter(depth__gt=1),
        }


class SectionPage(_InSite):
    """Lists what is below it, page by page; the home page is one, too."""

    intro = RichTextField()
    content_panels = [*Page.content_panels, FieldPanel("intro")]

    def get_context(self, request):
        below = self.get_children().live().order_by("path").specific()
        page = Paginator(below, PER_PAGE).get_page(request.GET.get("page"))
        return super().get_context(request) | {"below": page}


class ArticlePage(_InSite):
    date = models.DateField()
    body = StreamField(
        [
            ("heading", blocks.CharBlock()),
            ("paragraph", blocks.RichTextBlock()),
            ("quote", blocks.BlockQuoteBlock()),
        ]
    )
    content_panels = [*Page.content_panels, FieldPanel("date"), FieldPanel("body")]
    search_fields = [*Page.search_fields, index.SearchField("body")]
    subpage_types = []

    def get_context(self, request):
        beside = ArticlePage.objects.sibling_of(self, inclusive=False).live().order_by("-date")
        return super().get_context(request) | {"beside": beside[:5]}
