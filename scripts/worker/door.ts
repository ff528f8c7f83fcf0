/**
 * The entry in front of the Worker with `npm start`, on the public port. It hides the local runtime's own endpoints:
 * wrangler and Miniflare would serve handlers and a database explorer under `/cdn-cgi/`, which Cloudflare reserves for
 * itself. It imports only types, so it runs as is once its types are stripped.
 */
import type { FetcherScheduledOptions, FetcherScheduledResult } from '@cloudflare/workers-types/experimental'

interface DoorEnv {
  COUNTERSIGN: Fetcher & { scheduled: (options: FetcherScheduledOptions) => Promise<FetcherScheduledResult> }
  /** A new secret for each start, known only to the process that started this one. */
  CRON_SECRET: string
}

export default {
  async fetch(request, { COUNTERSIGN, CRON_SECRET }) {
    const url = new URL(request.url)
    const headers = new Headers(request.headers)
    // As behind Cloudflare: behind a tunnel that terminates TLS, pages have an https:// origin, which the Worker
    // compares with its own.
    const protocol = headers.get('x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase()
    if (protocol === 'http' || protocol === 'https') url.protocol = protocol
    const address = request.cf?.clientIp
    if (typeof address === 'string' && !headers.has('cf-connecting-ip')) {
      headers.set('cf-connecting-ip', withoutPort(address))
    }
    if (url.pathname.startsWith('/cdn-cgi/')) {
      if (url.pathname === '/cdn-cgi/handler/scheduled' && headers.get('x-cron-secret') === CRON_SECRET) {
        const { outcome } = await COUNTERSIGN.scheduled({ cron: '* * * * *', scheduledTime: new Date() })
        return new Response(outcome, { status: outcome === 'ok' ? 200 : 500 })
      }
      // A navigation would get the app's page; without this header, an unknown path is a 404.
      headers.delete('sec-fetch-mode')
    }
    return COUNTERSIGN.fetch(new Request(url, new Request(request, { headers })))
  },
} satisfies ExportedHandler<DoorEnv>

/** `127.0.0.1:5000` without its port, `[::1]:5000` without port and brackets. */
function withoutPort(address: string): string {
  return address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
}
