import { Alert, Anchor, Button, Card, Center, Code, Group, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useWindowEvent } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Fault } from '../api/client.ts'
import { changeSession } from '../api/query-client.ts'
import { nameOf, sessionQuery, signIn } from '../api/session.ts'
import type { Session } from '../api/wire.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { fieldFaults } from '../parts/field-faults.ts'

/**
 * Signs in with an API key, which is sent once and never stored here, or with the link in the URL. If someone is
 * already signed in, it asks first: a link may come from anyone, and may lead to another organization.
 */
export function SignIn() {
  const [path, navigate] = useLocation()
  const { data: session, isPending: isAsking } = useQuery(sessionQuery)
  const [apiKey, setApiKey] = useState('')
  const [link, setLink] = useState(() => linkIn(location))
  const tried = useRef('')
  const { mutate, isPending, error, variables, reset } = useMutation({
    mutationFn: signIn,
    onSuccess: signedIn => {
      changeSession(signedIn)
      if (path === '/sign-in') navigate('/', { replace: true })
    },
  })
  useWindowEvent('hashchange', () => setLink(linkIn(location)))
  useEffect(() => {
    if (link === '') return
    history.replaceState(null, '', '/sign-in')
    // A link works once, and effects run twice in development.
    if (isAsking || session || tried.current === link) return
    tried.current = link
    mutate({ link })
  }, [link, isAsking, session, mutate])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutate({ apiKey: apiKey.trim() })
  }
  const faults = fieldFaults(error, ['apiKey'])
  return (
    <Center mih="100dvh" p="md" component="main">
      <Card withBorder w="100%" maw={420} p="xl">
        <form onSubmit={submit}>
          <Stack>
            <Group gap="xs">
              <img src="/icon.svg" alt="" width={28} height={28} />
              <Title order={1}>Sign in to Countersign</Title>
            </Group>
            {session && <SignedIn session={session} {...(link !== '' && { onLink: () => mutate({ link }) })} />}
            <PasswordInput
              label="API key"
              description="You stay signed in for 12 hours. The key isn't stored in your browser."
              placeholder="cs_…"
              autoComplete="off"
              autoFocus
              required
              value={apiKey}
              onChange={({ currentTarget }) => {
                setApiKey(currentTarget.value)
                reset()
              }}
              error={faults.of('apiKey')}
            />
            {faults.rest && (
              <FaultAlert
                error={faults.rest}
                title="Couldn't sign in"
                {...(faults.rest instanceof Fault && variables && { onRetry: () => mutate(variables) })}
              />
            )}
            <Button type="submit" loading={isPending}>
              Sign in
            </Button>
            <Text size="sm" c="dimmed">
              No key? Ask a manager in your organization to create one under Settings, with the <Code>read</Code> and{' '}
              <Code>review</Code> scopes. If you run Countersign on your own machine, <Code>npm start</Code> prints a
              sign-in link. See also the{' '}
              <Anchor href="/docs" inherit underline="always">
                API documentation
              </Anchor>
              .
            </Text>
          </Stack>
        </form>
      </Card>
    </Center>
  )
}

/** The link's token, from the URL's fragment, which browsers don't send to servers. */
const linkIn = ({ pathname, hash }: Location): string => (pathname === '/sign-in' ? hash.slice(1) : '')

/** Shows who is already signed in, with a link to continue. */
const SignedIn = ({ session, onLink }: { session: Session; onLink?: () => void }) => (
  <Alert variant="default" title={`You're signed in as ${nameOf(session)} (${session.organization.name})`}>
    <Group gap="xs">
      <Button component={Link} href="/" size="xs" variant="default">
        Continue
      </Button>
      {onLink && (
        <Button size="xs" variant="default" onClick={onLink}>
          Sign in with the link instead
        </Button>
      )}
    </Group>
  </Alert>
)
