import os

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class PasswordHasher(PBKDF2PasswordHasher):
    """Django's own; PASSWORD_ITERATIONS says how much CPU a login may take."""

    iterations = int(os.environ.get("PASSWORD_ITERATIONS") or PBKDF2PasswordHasher.iterations)
