import { Code, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import type { ExperimentReport } from '../api/wire.ts'
import { CopiedCode } from '../parts/copied-code.tsx'
import { commandsOf, LANGUAGES, type Language } from './commands.ts'

/** The code that runs an experiment's items through the team's own step. */
export function RunCommand({ report }: { report: ExperimentReport }) {
  const [language, setLanguage] = useState<Language>('TypeScript')
  return (
    <Stack gap={6} component="section" aria-label="Run it">
      <Title order={2}>Run it</Title>
      <Text size="sm" c="dimmed">
        Run your step on each item with the key in <Code>COUNTERSIGN_KEY</Code>. The key needs the <Code>read</Code>{' '}
        scope, and either <Code>review</Code> or <Code>manage</Code>. You can stop and restart at any time. Items that
        already have a result are skipped.
      </Text>
      <SegmentedControl
        size="xs"
        aria-label="Language"
        value={language}
        onChange={chosen => setLanguage(LANGUAGES.find(each => each === chosen) ?? 'TypeScript')}
        data={[...LANGUAGES]}
        style={{ alignSelf: 'start' }}
      />
      <CopiedCode text={commandsOf(report, location.origin)[language]} label="Copy command" />
    </Stack>
  )
}
