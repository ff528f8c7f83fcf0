import { Button, Group, Stack, Text } from '@mantine/core'
import type { NewApiKey } from '../api/wire.ts'
import { CopiedCode } from '../parts/copied-code.tsx'
import { curlOf } from '../parts/curl.ts'
import { Warning } from '../parts/warning.tsx'

/** A new key's secret, shown only once, with commands to test it and, if it's for an agent, to connect the agent. */
export const KeySecret = ({ apiKey, onDone }: { apiKey: NewApiKey; onDone: () => void }) => (
  <Stack gap="sm">
    <Warning title="Copy this key now">
      You won't be able to see it again. Anyone who has it can use it, so store it like a password.
    </Warning>
    <CopiedCode text={apiKey.key} label="Copy key" />
    <Text size="sm">To test the key, run this command. It shows the key's user and scopes.</Text>
    <CopiedCode text={`export COUNTERSIGN_KEY=${apiKey.key}\n${curlOf('/api/session')}`} label="Copy command" />
    {apiKey.actsAs === 'agent' && <ConnectAgent />}
    <Group justify="flex-end">
      <Button onClick={onDone}>I've copied it</Button>
    </Group>
  </Stack>
)

/** How to connect an agent with the key that the command above exports. */
function ConnectAgent() {
  const url = new URL('/mcp', location.origin).href
  return (
    <>
      <Text size="sm">
        To connect Claude Code, run this command next. In other clients, add a remote MCP server with this URL and the
        header x-api-key.
      </Text>
      <CopiedCode
        text={`claude mcp add --transport http countersign ${url} \\\n  --header "x-api-key: $COUNTERSIGN_KEY"`}
        label="Copy command to connect"
      />
    </>
  )
}
