import * as v from 'valibot'
import type { Context } from '../api/context.ts'
import type { Contract } from '../api/contract.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { serve } from '../api/serve.ts'
import { shownAs } from '../http/atoms.ts'
import { exportExamples } from './examples.ts'
import type { Outcome } from './outcome.ts'
import { type ExportBody, otlp } from './protocol.ts'
import type { Signal } from './reading/telemetry.ts'

/** The base paths where clients send exports: the documented path, no path, and the paths in other services' SDKs. */
const BASES = ['/api/v1/otel', '', '/api/public/otel', '/otel', '/api'] as const

const Export = v.pipe(
  v.looseObject({}),
  v.metadata({
    description:
      "An OTLP/HTTP export, in JSON or protobuf (application/x-protobuf). It may be compressed with gzip, deflate, or zstd. The response is in the request's format.",
  }),
)

const Answer = v.object({
  partialSuccess: v.optional(
    v.looseObject({
      errorMessage: v.optional(v.string()),
    }),
  ),
})

const contractOf = (signal: Signal, base: (typeof BASES)[number]) =>
  ({
    family: 'otlp',
    method: 'POST',
    path: `${base}/v1/${signal}` as const,
    summary: `Ingest OpenTelemetry ${signal}`,
    scope: 'ingest',
    // The handler decodes the body itself, to keep as little of it in memory at once as possible.
    body: shownAs(
      v.custom<ExportBody>(() => true),
      Export,
    ),
    errors: { 404: 'Project not found', 415: 'The body must be protobuf or JSON' },
    responses: { 200: Answer },
    example: exportExamples[signal],
  }) as const satisfies Contract

/** The context of an export handler. */
export type ExportContext = Context<ReturnType<typeof contractOf>>

/** Declares the OTLP/HTTP endpoints for a signal at each base path, so a client needs only an address and a key. */
export function exportEndpoints(signal: Signal, handler: (context: ExportContext) => Promise<Outcome>): Endpoint[] {
  const protocol = otlp(signal)
  return BASES.map(base => {
    const contract = contractOf(signal, base)
    return { contract, serve: (...sent) => serve(contract, protocol, handler, ...sent) }
  })
}
