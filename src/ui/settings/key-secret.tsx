import { Button, Group, Stack, Text } from '@mantine/core'
import type { NewApiKey } from '../api/wire.ts'
import { CopiedCode } from '../parts/copied-code.tsx'
import { curlOf } from '../parts/curl.ts'
import { Warning } from '../parts/warning.tsx'

/** A new key's secret, which is shown only once, and a command to test it. */
export const KeySecret = ({ apiKey, onDone }: { apiKey: NewApiKey; onDone: () => void }) => (
  <Stack gap="sm">
    <Warning title="Copy this key now">
      You won't be able to see it again. Anyone who has it can use it, so store it like a password.
    </Warning>
    <CopiedCode text={apiKey.key} label="Copy key" />
    <Text size="sm">To test the key, run this command. It shows the key's user and scopes.</Text>
    <CopiedCode text={`export COUNTERSIGN_KEY=${apiKey.key}\n${curlOf('/api/session')}`} label="Copy command" />
    <Group justify="flex-end">
      <Button onClick={onDone}>I've copied it</Button>
    </Group>
  </Stack>
)
