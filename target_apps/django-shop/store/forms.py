from django import forms

from store.models import OrderLine, Review


class OrderForm(forms.ModelForm):
    class Meta:
        model = OrderLine
        fields = ["product", "quantity"]


class ReviewForm(forms.ModelForm):
    class Meta:
        model = Review
        fields = ["rating", "text", "photo"]
