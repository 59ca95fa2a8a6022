"""The environment as one frozen `Settings`; a misspelt `TUNER_*` name is an error.

settings          all settings, each declared once; the certificate of the API
+- fields         the types of their texts, and the names in the environment
"""

from tuner.service.settings.fields import PREFIX, age_of
from tuner.service.settings.settings import Settings
