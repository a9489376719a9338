"""A context of Spark for the time of a run: started quietly, or refused in words that help."""

from __future__ import annotations

import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sfumato.core.foreign import said
from sfumato.engines import java
from sfumato.errors import MachineError, ParameterError

_CONNECT = 10.0  # seconds for a master to answer
_ATTEMPTS = 4  # of a task; without it a local Spark never tries again
_HOST = "127.0.0.1"
# Nothing but names passes through the virtual machine: it is to start soon, not to compute fast.
_BRISK = "-XX:TieredStopAtLevel=1"
_LOCAL, _PYTHON = "local", "PYSPARK_PYTHON"
_MASTERS = ("spark://", _LOCAL, "yarn", "k8s://")
_JAVA_LOG, _IN_MAIN = "java.log", 'Exception in thread "main" '
_TOLD = re.compile(r"^(Exception in thread|Error|Invalid|Unrecognized|.*\bException: )")
_RAISED = re.compile(r"[A-Z]\w*(Error|Exception|Interrupt|Exit)\b")
DOING = "running on Spark"


@contextmanager
def started(pyspark: Any, master: str | None, n: int, place: str) -> Iterator[Any]:
    """A new context: of a master, or of ``n`` processes of this machine."""
    settings = {"spark.ui.port": "0", "spark.ui.killEnabled": "false",
                "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}  # fmt: skip
    environment = {}
    if master is None:
        settings |= {"spark.driver.host": _HOST, "spark.driver.bindAddress": _HOST,
                     "spark.local.dir": place, "spark.driver.memory": "1g",
                     "spark.driver.extraJavaOptions": _BRISK}  # fmt: skip
        environment = {"SPARK_LOCAL_IP": _HOST, _PYTHON: sys.executable}
    elif master.startswith(_LOCAL):
        environment = {_PYTHON: os.environ.get(_PYTHON, sys.executable)}
    conf = pyspark.SparkConf().setAppName("sfumato").setMaster(master or f"local[{n},{_ATTEMPTS}]")
    conf.setAll(settings.items())
    with _set(environment):
        try:
            with _quiet():
                gateway = _gateway(pyspark, conf, place)
                context = pyspark.SparkContext(conf=conf, gateway=gateway)
        except Exception as error:  # of the gateway or of the JVM
            raise MachineError(
                f"Spark does not start: {_said_by_java(place) or reason(error)}", doing=DOING
            ) from error
    try:
        yield context
    finally:
        context.stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """Spark warns about versions of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _gateway(pyspark: Any, conf: Any, place: str) -> Any:
    """A virtual machine that tells a file what it would have told the terminal; None if there is
    one already.
    """
    from pyspark.java_gateway import launch_gateway

    if pyspark.SparkContext._gateway is not None:
        return None
    with Path(place, _JAVA_LOG).open("wb") as log:
        return launch_gateway(conf, {"stdout": log, "stderr": log})


def _said_by_java(place: str) -> str:
    """Why a virtual machine ended, if it did."""
    log = Path(place, _JAVA_LOG)
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    told = (line for line in lines if _TOLD.search(line))
    return next(told, "").removeprefix(_IN_MAIN).strip()


@contextmanager
def _set(environment: Mapping[str, str]) -> Iterator[None]:
    """Variables that a program reads when it starts."""
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def require_java() -> None:
    """Raise unless there is one that Spark starts with."""
    found = java.java_version()
    if found is None or found < java.LEAST:
        what = "no Java is found" if found is None else f"the Java here has version {found}"
        raise MachineError(f"Spark needs Java, and {what}; {java.HOW}", doing=DOING)


def require_address(master: str) -> None:
    """Raise unless Spark knows such masters."""
    if not master.startswith(_MASTERS):
        raise ParameterError(
            f"a master is spark://HOST:7077, yarn, k8s://..., or local[2]; {master} is none",
            parameter="master",
        )


def require_answer(master: str) -> None:
    """Spark itself would try for minutes."""
    place = urlsplit(master.partition(",")[0])
    if place.scheme != "spark":
        return  # local-cluster[...], yarn, k8s://
    try:
        socket.create_connection((place.hostname or "", place.port or 7077), _CONNECT).close()
    except OSError as error:
        raise MachineError(
            f"no Spark master answers at {master} ({said(error)}); start one, or leave the address "
            "out to use this machine alone",
            doing=DOING,
        ) from error


def reason(error: BaseException) -> str:
    """What Python said last in a task, or Java first; without the stacks of both."""
    lines = [line.strip(" :") for line in str(error).splitlines()]
    python = [line for line in lines if _RAISED.match(line)]
    java = [line for line in lines if line and not line.startswith(("at ", "An error occurred"))]
    return next(iter([*python[-1:], *java]), type(error).__name__)
