import '@mantine/core/styles.css'
import '../colors.css'
import '../app.css'
import { MantineProvider } from '@mantine/core'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { cssVariablesResolver, theme } from '../theme.ts'
import { ApiPage } from './api-page.tsx'
import type { ApiDocument } from './document.ts'

/** The Worker generates the document. Its tests validate it against OpenAPI's schema, so it isn't checked here. */
async function fetchDocument(): Promise<ApiDocument> {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`openapi.json returned ${response.status}`)
  return response.json()
}

const container = document.getElementById('docs')
if (container) {
  const root = createRoot(container)
  const content = await fetchDocument().then(
    document => <ApiPage document={document} />,
    () => <p role="alert">Couldn't load the API documentation. Reload the page to try again.</p>,
  )
  root.render(
    <StrictMode>
      <MantineProvider theme={theme} cssVariablesResolver={cssVariablesResolver} defaultColorScheme="auto">
        {content}
      </MantineProvider>
    </StrictMode>,
  )
}
