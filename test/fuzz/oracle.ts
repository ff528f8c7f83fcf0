import type { Schema } from '@cfworker/json-schema'
import { type ApiDocument, fileTypesOf, type Message, type Operation, schemaOf, schemesOf } from './document.ts'
import { urlOf } from './requests.ts'
import type { Sent } from './sent.ts'

/** A response whose body has been read. */
export interface Received {
  status: number
  headers: Headers
  text: string
}

const ERROR: Schema = { $ref: '#/components/schemas/Error' }

/** Text that no error may reveal, such as stack traces, SQL, and messages from D1. */
const INTERNALS = /\n\s+at |\.ts:\d|SQLITE|D1_|\bselect\b.*\bfrom\b|\binsert into\b/i

/** Yields each way in which a response violates HTTP or the document. */
export function* violationsOf(document: ApiDocument, sent: Sent, received: Received): Generator<string> {
  const { method } = sent
  const { status, headers, text } = received
  const operation = document.operationAt(method, urlOf(sent))
  const message = operation?.responses[status]
  if (status >= 500) yield 'the service failed'
  if (operation && !message) yield "the document doesn't list the status"
  if (operation && !hasAccess(sent, operation) && status !== 401) yield 'the caller has no credentials for this'
  const others = document.operationsAt(urlOf(sent))
  const expected = others.length === 0 ? 404 : method === 'OPTIONS' ? 204 : 405
  if (!operation && status !== expected) yield `there is no such operation, so the status should be ${expected}`
  if (status === 405 && !headers.get('allow')) yield "it doesn't list the allowed methods"
  if (!headers.get('x-request-id')) yield 'it has no x-request-id'
  const isEmpty = message !== undefined && message.content === undefined
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304 && !isEmpty
  if (!hasBody && text !== '') yield 'it should have no body'
  const fileTypes = hasBody ? fileTypesOf(message) : undefined
  const body = hasBody && !fileTypes ? jsonIn(text) : {}
  if (!body) return yield 'its body is not JSON'
  const fault = operation && faultOf(document, operation, sent)
  const isRejected = status >= 400 || body.results?.some(result => result.status >= 400)
  if (fault && !isRejected) yield `the document doesn't allow this request: ${fault}`
  if (!hasBody) return
  const type = headers.get('content-type')
  if (fileTypes) {
    if (!fileTypes.some(each => type === `${each}; charset=utf-8`)) yield "its content-type isn't in the document"
    return
  }
  // The response to an OTLP export has the export's media type.
  if (type !== 'application/json; charset=utf-8' && type !== 'application/json') yield "its content-type isn't JSON"
  const mismatch = document.fault(schemaOf(message) ?? ERROR, body)
  if (mismatch) yield `its body doesn't match the document: ${mismatch}`
  const isOtherRequest = 'requestId' in body && body.requestId !== headers.get('x-request-id')
  if (status >= 400 && isOtherRequest) yield "its requestId doesn't match its header"
  if (status >= 400 && INTERNALS.test(text)) yield 'it reveals internals'
}

/** Parses a body. A 207 has `results`, any of which may be a rejection. */
function jsonIn(text: string): { requestId?: string; results?: { status: number }[] } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether the request succeeded. */
export const isSuccess = (status: number): boolean => status < 400

function hasAccess({ caller }: Sent, operation: Operation): boolean {
  const schemes = schemesOf(operation)
  if (schemes.length === 0) return true
  return caller !== 'nobody' && caller !== 'impostor' && schemes.includes('adminToken') === (caller === 'admin')
}

/** Explains why the document doesn't allow a request. Returns undefined if it allows the request. */
export function faultOf(document: ApiDocument, operation: Operation, sent: Sent): string | undefined {
  const { pathname, searchParams } = new URL(urlOf(sent))
  const inPath = operation.pattern.exec(pathname)?.groups ?? {}
  for (const { name, in: place, required, schema } of operation.parameters) {
    if (place === 'header' || schema.type === 'object') continue
    const values = place === 'path' ? [decoded(inPath[name] ?? '')] : searchParams.getAll(name)
    if (required && values.length === 0) return `${name} is missing`
    if (values.length > 1) return `${name} is given more than once`
    const fault = values.map(value => document.fault(schema, typed(schema, value))).find(Boolean)
    if (fault) return `${name}: ${fault}`
  }
  return operation.requestBody && bodyFault(document, operation.requestBody, sent)
}

/** Converts a parameter's text to the type in its schema. */
const typed = ({ type }: Schema, text: string): unknown =>
  (type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function bodyFault(document: ApiDocument, message: Message, { headers, body }: Sent): string | undefined {
  const type = headers['content-type'] ?? ''
  if (!/json|^$/i.test(type)) return `content-type ${type}`
  if (body.length === 0) return message.required ? 'no body' : undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(body)
    return document.fault(schemaOf(message) ?? {}, JSON.parse(text))
  } catch {
    return 'not JSON'
  }
}
