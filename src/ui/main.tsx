import '@mantine/core/styles/baseline.layer.css'
import '@mantine/core/styles/global.layer.css'
import './app.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { onWait } from './api/client.ts'
import { queryClient } from './api/query-client.ts'
import { sessionQuery } from './api/session.ts'
import { App } from './app.tsx'
import { loadPageAt } from './pages.tsx'
import { showWait } from './parts/wait-notice.ts'

onWait(showWait)

void queryClient.prefetchQuery(sessionQuery)
// If this fails, the page tries again, and shows an error only if that also fails.
await loadPageAt(location.pathname).catch(() => undefined)

const container = document.getElementById('app')
if (container) {
  createRoot(container).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
}
