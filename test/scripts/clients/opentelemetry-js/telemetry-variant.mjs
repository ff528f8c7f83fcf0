// Like the page's telemetry.mjs, but with a different encoding or processor.
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

const { ENCODING, PROCESSOR } = process.env
const exporter = ENCODING === 'json' ? new JsonExporter() : new ProtobufExporter()

export const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'support', 'deployment.environment.name': 'staging' }),
  spanProcessors: [PROCESSOR === 'simple' ? new SimpleSpanProcessor(exporter) : new BatchSpanProcessor(exporter)],
})
provider.register()
