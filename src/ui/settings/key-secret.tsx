import { Button, Group, Stack, Text } from '@mantine/core'
import type { NewApiKey } from '../api/wire.ts'
import { CopiedCode } from '../parts/copied-code.tsx'
import { curlOf } from '../parts/curl.ts'
import { Warning } from '../parts/warning.tsx'

/** A key's secret, the only time that it can be seen, and a call that uses it. */
export const KeySecret = ({ apiKey, onDone }: { apiKey: NewApiKey; onDone: () => void }) => (
  <Stack gap="sm">
    <Warning title="Copy it now">
      This is the only time that it is shown. Whoever has it may do all that it allows: keep it where secrets are kept.
    </Warning>
    <CopiedCode text={apiKey.key} label="Copy the key" />
    <Text size="sm">Try it: this says whom it acts for and what it may do.</Text>
    <CopiedCode text={`export COUNTERSIGN_KEY=${apiKey.key}\n${curlOf('/api/session')}`} label="Copy the command" />
    <Group justify="flex-end">
      <Button onClick={onDone}>I have copied it</Button>
    </Group>
  </Stack>
)
