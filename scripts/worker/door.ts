/**
 * The entry that `npm start` puts in front of the Worker, on the public port. It hides the local runtime's own
 * endpoints. Without it, wrangler and Miniflare would serve handlers and a database explorer under `/cdn-cgi/`, which
 * Cloudflare reserves for itself. The file imports only types, so it runs as is once its types are stripped.
 */
import type { FetcherScheduledOptions, FetcherScheduledResult } from '@cloudflare/workers-types/experimental'

interface DoorEnv {
  COUNTERSIGN: Fetcher & { scheduled: (options: FetcherScheduledOptions) => Promise<FetcherScheduledResult> }
  /** A secret that's new at each start. Only the process that started this one has it. */
  CRON_SECRET: string
}

export default {
  async fetch(request, { COUNTERSIGN, CRON_SECRET }) {
    const url = new URL(request.url)
    const headers = new Headers(request.headers)
    // As on Cloudflare, the URL gets the browser's protocol: behind a tunnel that terminates TLS, pages have an
    // https:// origin, which the Worker compares with its own.
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
      // With this header, the Worker would respond with the app's page. Without it, an unknown path gets a 404.
      headers.delete('sec-fetch-mode')
    }
    return COUNTERSIGN.fetch(new Request(url, new Request(request, { headers })))
  },
} satisfies ExportedHandler<DoorEnv>

/** Removes the port from `127.0.0.1:5000`, and the port and brackets from `[::1]:5000`. */
function withoutPort(address: string): string {
  return address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
}
