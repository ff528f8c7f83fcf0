import { Anchor, Button, Card, Center, Code, Group, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { changeSession } from '../api/query-client.ts'
import { signIn } from '../api/session.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'

/** Signs in with an API key, which goes to the service once and is kept nowhere here, or with the link that the address has. */
export function SignIn() {
  const [path, navigate] = useLocation()
  const [apiKey, setApiKey] = useState('')
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: signIn,
    onSuccess: session => {
      changeSession(session)
      if (path === '/sign-in') navigate('/', { replace: true })
    },
  })
  // A link is good for once, and effects run twice in development.
  const isTried = useRef(false)
  useEffect(() => {
    const link = path === '/sign-in' ? location.hash.slice(1) : ''
    if (link === '' || isTried.current) return
    isTried.current = true
    history.replaceState(null, '', '/sign-in')
    mutate({ link })
  }, [path, mutate])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutate({ apiKey: apiKey.trim() })
  }
  return (
    <Center mih="100dvh" p="md" component="main">
      <Card withBorder w="100%" maw={420} p="xl">
        <form onSubmit={submit}>
          <Stack>
            <Group gap="xs">
              <img src="/icon.svg" alt="" width={28} height={28} />
              <Title order={1}>Sign in to Countersign</Title>
            </Group>
            <PasswordInput
              label="API key"
              description="It makes a session of 12 hours; the browser does not keep it."
              placeholder="cs_…"
              autoComplete="off"
              autoFocus
              required
              value={apiKey}
              onChange={({ currentTarget }) => {
                setApiKey(currentTarget.value)
                reset()
              }}
            />
            {error && <FaultAlert error={error} title="Not signed in" />}
            <Button type="submit" loading={isPending}>
              Sign in
            </Button>
            <Text size="sm" c="dimmed">
              No key? Whoever manages your organization makes one under Settings, with the scopes <Code>read</Code> and{' '}
              <Code>review</Code>. On your own machine <Code>npm start</Code> prints a link. The{' '}
              <Anchor href="/docs" inherit underline="always">
                API
              </Anchor>{' '}
              needs no session.
            </Text>
          </Stack>
        </form>
      </Card>
    </Center>
  )
}
