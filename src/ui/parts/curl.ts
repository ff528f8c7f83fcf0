interface CurlOptions {
  method?: string
  body?: unknown
  /** The project for an ingestion call. Required with a key for all projects. */
  projectSlug?: string
}

/** Quotes a string for the shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** The curl command for an API call, with the key in COUNTERSIGN_KEY. */
export function curlOf(path: string, { method = 'GET', body, projectSlug }: CurlOptions = {}): string {
  return curlOfRequest({
    method,
    path,
    headers: {
      Authorization: '',
      ...(projectSlug !== undefined && { 'x-project-slug': projectSlug }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

interface CurlRequest {
  method: string
  path: string
  headers: Readonly<Record<string, string>>
  body?: string
}

/** The curl command for a request. It reads the key from COUNTERSIGN_KEY instead of containing it. */
export function curlOfRequest({ method, path, headers, body }: CurlRequest): string {
  return [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${quoted(new URL(path, location.origin).href)}`,
    ...Object.entries(headers).map(([name, value]) =>
      name === 'Authorization' ? `-H "Authorization: Bearer $COUNTERSIGN_KEY"` : `-H ${quoted(`${name}: ${value}`)}`,
    ),
    ...(body === undefined ? [] : [`-d ${quoted(body)}`]),
  ].join(' \\\n  ')
}
