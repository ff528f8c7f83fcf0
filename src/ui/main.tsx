import '@mantine/core/styles/baseline.layer.css'
import '@mantine/core/styles/global.layer.css'
import './app.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { onWait } from './api/client.ts'
import { App } from './app.tsx'
import { showWait } from './parts/wait-notice.ts'

onWait(showWait)

const container = document.getElementById('app')
if (container) {
  createRoot(container).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
}
