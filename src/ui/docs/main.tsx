import '@mantine/core/styles.css'
import '../colors.css'
import '../app.css'
import { MantineProvider } from '@mantine/core'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { cssVariablesResolver, theme } from '../theme.ts'
import { ApiPage } from './api-page.tsx'
import type { ApiDocument } from './document.ts'

/** The Worker writes the document, and its tests hold it to OpenAPI's own schema. */
async function fetchDocument(): Promise<ApiDocument> {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`openapi.json was answered with ${response.status}`)
  return response.json()
}

const container = document.getElementById('docs')
if (container) {
  const root = createRoot(container)
  const content = await fetchDocument().then(
    document => <ApiPage document={document} />,
    () => <p role="alert">The API's description can't be loaded now. Reload the page to try again.</p>,
  )
  root.render(
    <StrictMode>
      <MantineProvider theme={theme} cssVariablesResolver={cssVariablesResolver} defaultColorScheme="auto">
        {content}
      </MantineProvider>
    </StrictMode>,
  )
}
