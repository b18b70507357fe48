"""The explorer at /docs: Swagger UI out of a wheel, so that it works where there is no internet."""

from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import HTMLResponse
from starlette.staticfiles import StaticFiles

_ASSETS = "/docs/assets"


def add_explorer(app: FastAPI) -> None:
    app.mount(_ASSETS, StaticFiles(directory=str(files("fastapi_offline") / "static")), name="explorer")

    @app.get("/docs", include_in_schema=False)
    async def explorer() -> HTMLResponse:
        return get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"{_ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{_ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{_ASSETS}/favicon.png",
            swagger_ui_parameters={"persistAuthorization": False},
        )
