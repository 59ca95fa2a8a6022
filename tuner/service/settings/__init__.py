"""The environment as one frozen `Settings`; a misspelt `TUNER_*` name is an error.

settings          all settings, each declared once
+- fields         the types of their texts
+- environ        the names in the environment, and what is wrong with them
+- tls            the certificate of the API, and its key
"""

from tuner.service.settings.fields import PREFIX, age_of
from tuner.service.settings.settings import Settings
