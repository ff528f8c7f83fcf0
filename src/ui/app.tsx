import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { queryClient } from './api/query-client.ts'
import { Pages } from './pages.tsx'
import { LateNotices } from './parts/late-notices.tsx'
import { SessionGate } from './session/session-gate.tsx'
import { Shell } from './shell/shell.tsx'
import { cssVariablesResolver, theme } from './theme.ts'

/** The reviewer's app. It uses only the public API. */
export const App = () => (
  <MantineProvider
    theme={theme}
    cssVariablesResolver={cssVariablesResolver}
    defaultColorScheme="auto"
    // The provider's script contains all of Mantine's variables, so no style sheet needs to repeat the defaults.
    deduplicateCssVariables={false}
  >
    <LateNotices />
    <QueryClientProvider client={queryClient}>
      <SessionGate>
        <Shell>
          <Pages />
        </Shell>
      </SessionGate>
    </QueryClientProvider>
  </MantineProvider>
)
