/** What the client asks of `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>
