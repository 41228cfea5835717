from common.signing import token_paths
from demo.sign_in import sign_in

urlpatterns = token_paths("demo/sign-in/", sign_in, "demo_sign_in")
