import { Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useNames } from '../api/names.ts'
import { sessionQuery } from '../api/session.ts'
import type { NewApiKey } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { count } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { EditKey, NewKey, RevokeKey, RotateKey } from './key-dialogs.tsx'
import { ACTORS } from './key-fields.tsx'
import { KeySecret } from './key-secret.tsx'
import { type ApiKey, isAlive, keyState } from './key-state.ts'
import { KeyStateMark } from './key-state-mark.tsx'
import { OneProjectOnly } from './limits-of-key.tsx'
import { apiKeysQuery } from './queries.ts'
import { SecretModal } from './secret-modal.tsx'
import { TabBar } from './tab-bar.tsx'
import { WordBadges } from './word-badges.tsx'
import { refreshKeys } from './writes.ts'

/** The organization's API keys. */
export function KeysTab() {
  // This state is kept here so that a change to the list doesn't close the dialog.
  const [made, setMade] = useState<NewApiKey>()
  const query = useInfiniteQuery(apiKeysQuery)
  const keys = query.data?.pages.flatMap(page => page.apiKeys)
  const { data: session } = useQuery(sessionQuery)
  const users = useNames(keys?.map(({ userId }) => userId) ?? [])
  const projects = new Map(session?.projects.map(({ id, name }) => [id, name]))
  const columns: Column<ApiKey>[] = [
    {
      label: 'Name',
      cell: ({ id, name, prefix }) => (
        <>
          <Text size="sm" fw={600} dir="auto">
            <ShownText text={name} />
          </Text>
          <Text size="xs" c="dimmed">
            <code>{prefix}…</code>
            {id === session?.key?.id && ', signed in now'}
          </Text>
        </>
      ),
    },
    {
      label: 'Project',
      cell: ({ projectId }) => (projectId === null ? 'All' : <ShownText text={projects.get(projectId) ?? projectId} />),
    },
    { label: 'Acts as', cell: ({ actsAs }) => ACTORS[actsAs].label, isNarrow: true },
    { label: 'Scopes', cell: ({ scopes }) => <WordBadges words={scopes} /> },
    {
      label: 'Acts for',
      cell: ({ userId }) =>
        userId === null ? 'No one' : <ShownText text={users.get(userId) ?? 'Deleted or unnamed user'} />,
    },
    {
      label: 'Limit',
      cell: ({ rateLimitPerMinute }) =>
        rateLimitPerMinute === null ? 'Default' : `${count(rateLimitPerMinute)} per minute`,
      isNarrow: true,
    },
    {
      label: 'Expires',
      cell: ({ expiresAt }) => (expiresAt === null ? 'Never' : <Moment at={expiresAt} />),
    },
    { label: 'State', cell: key => <KeyStateMark state={keyState(key, Date.now())} />, isNarrow: true },
    {
      label: 'Actions',
      cell: key =>
        isAlive(keyState(key, Date.now())) && (
          <Group gap={4} wrap="nowrap" justify="flex-end">
            {session && <EditKey apiKey={key} session={session} />}
            {/* A key that was replaced already has a successor, so it can't be replaced again. */}
            {key.revokedAt === null && <RotateKey apiKey={key} isOwn={key.id === session?.key?.id} onMade={setMade} />}
            <RevokeKey apiKey={key} isOwn={key.id === session?.key?.id} />
          </Group>
        ),
      isActions: true,
    },
  ]
  return (
    <Stack gap="sm">
      <TabBar about="Pipelines and reviewers authenticate with these keys. A key's secret is shown only once, when you create the key. Only a hash of the secret is stored.">
        {session && <NewKey session={session} onMade={setMade} />}
      </TabBar>
      <OneProjectOnly>Only this project's keys are listed, and new keys are for this project.</OneProjectOnly>
      {query.error && !query.data ? (
        <FaultAlert error={query.error} onRetry={query.refetch} />
      ) : (
        <StackedTable label="API keys" columns={columns} rows={keys} keyOf={({ id }) => id} />
      )}
      <ShowMore query={query} />
      <SecretModal
        title={made && `Key ${made.name}`}
        onDone={() => {
          setMade(undefined)
          refreshKeys()
        }}
      >
        {done => made && <KeySecret apiKey={made} onDone={done} />}
      </SecretModal>
    </Stack>
  )
}
