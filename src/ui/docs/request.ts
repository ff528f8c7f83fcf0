import type { Endpoint } from './document.ts'

export interface Request {
  method: string
  /** The path, including the query. */
  path: string
  headers: Record<string, string>
  body?: string
}

/** The form's input. Parameters are keyed by `fieldOf`. Empty parameters aren't sent. */
export interface Input {
  key: string
  parameters: Readonly<Record<string, string>>
  body: string
}

/** A parameter's key in the form. It includes the location, because a path and a query parameter can share a name. */
export const fieldOf = ({ in: place, name }: { in: string; name: string }): string => `${place} ${name}`

/** Builds the request. Sends the key as a bearer token, because that also works for the admin token. */
export function requestOf(
  { method, path, parameters, requestBody }: Endpoint,
  { key, body, ...input }: Input,
): Request {
  let target = path
  const query = new URLSearchParams()
  const headers: Record<string, string> = key === '' ? {} : { Authorization: `Bearer ${key}` }
  for (const parameter of parameters) {
    const value = input.parameters[fieldOf(parameter)] ?? ''
    if (parameter.in === 'path') target = target.replace(`{${parameter.name}}`, encodeURIComponent(value))
    else if (value === '') continue
    else if (parameter.in === 'header') headers[parameter.name] = value
    else if (parameter.explode) for (const [name, one] of new URLSearchParams(value)) query.append(name, one)
    else query.append(parameter.name, value)
  }
  const hasBody = requestBody !== undefined && body.trim() !== ''
  if (hasBody) headers['Content-Type'] = 'application/json'
  return { method, path: query.size > 0 ? `${target}?${query}` : target, headers, ...(hasBody && { body }) }
}

export interface Received {
  status: number
  milliseconds: number
  headers: [string, string][]
  text: string
}

/** Sends a request to the service that serves this page. Rejects if there is no response. */
export async function send({ path, ...request }: Request): Promise<Received> {
  const start = performance.now()
  const response = await fetch(path, request)
  const text = await response.text()
  return {
    status: response.status,
    milliseconds: Math.round(performance.now() - start),
    headers: [...response.headers],
    text,
  }
}
