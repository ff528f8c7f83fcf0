"""Answers a question from a knowledge base, and exports the run to Countersign with OpenTelemetry."""

import json
import os
import sys

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

url = os.environ.get("COUNTERSIGN_URL", "http://localhost:8787")
question = sys.argv[1] if len(sys.argv) > 1 else "How long is the warranty?"

provider = TracerProvider()
exporter = OTLPSpanExporter(
    endpoint=f"{url}/api/v1/otel/v1/traces",
    headers={"x-api-key": os.environ.get("COUNTERSIGN_KEY", "")},
)
provider.add_span_processor(BatchSpanProcessor(exporter))
tracer = provider.get_tracer("support")


def retrieve(query):
    """Stands in for a search in your knowledge base."""
    documents = [
        {"id": "warranty", "content": "The warranty is 24 months."},
        {"id": "returns", "content": "You can return a device within 14 days."},
    ]
    return [document for document in documents if document["id"][:6] in query.lower()]


def generate(query, documents):
    """Stands in for a call to a model."""
    return {"answer": documents[0]["content"] if documents else "I don't know."}


with tracer.start_as_current_span("support-answer") as root:
    root.set_attribute("gen_ai.operation.name", "invoke_workflow")
    root.set_attribute("gen_ai.conversation.id", "example")
    root.set_attribute("input.value", json.dumps({"question": question}))

    with tracer.start_as_current_span("retrieve") as span:
        span.set_attribute("gen_ai.operation.name", "retrieval")
        span.set_attribute("gen_ai.retrieval.query.text", question)
        documents = retrieve(question)
        span.set_attribute("gen_ai.retrieval.documents", json.dumps(documents))

    with tracer.start_as_current_span("answer") as span:
        # Prompts, reviews, and insights identify the step by this name.
        span.set_attribute("countersign.step_id", "answer")
        span.set_attribute("gen_ai.operation.name", "chat")
        span.set_attribute("input.value", json.dumps({"question": question}))
        output = generate(question, documents)
        span.set_attribute("output.value", json.dumps(output))

    root.set_attribute("output.value", json.dumps(output))

# Wait until everything is sent before the script exits.
provider.shutdown()
print(f"trace_{root.get_span_context().trace_id:032x}")
