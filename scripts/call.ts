/**
 * Makes one call and returns its response body. A 409 counts as success, because it means that the item already exists.
 * Each call has its own connection, because the server closes idle connections, and a call sent at that very moment
 * would fail.
 */
export async function call(
  url: string,
  token: string,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', connection: 'close', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok && response.status !== 409) throw new Error(`${method} ${path} returned ${response.status}: ${text}`)
  return JSON.parse(text)
}
