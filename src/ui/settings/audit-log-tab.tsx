import { Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { useNames } from '../api/names.ts'
import { sessionQuery } from '../api/session.ts'
import type { AuditLog } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { auditActionLabel } from './audit-actions.ts'
import { AuditFilterBar } from './audit-filter-bar.tsx'
import { auditFiltersOf } from './audit-filters.ts'
import { AuditTarget } from './audit-target.tsx'
import { OneProjectOnly } from './limits-of-key.tsx'
import { auditLogQuery } from './queries.ts'
import { TabBar } from './tab-bar.tsx'
import { useAllKeys, useAllUsers } from './use-all.ts'

type Entry = AuditLog['entries'][number]

/** Who did what, newest first. */
export function AuditLogTab() {
  const [parameters] = useSearchParams()
  const filters = auditFiltersOf(parameters)
  const query = useInfiniteQuery(auditLogQuery(filters))
  const entries = query.data?.pages.flatMap(page => page.entries)
  const { data: session } = useQuery(sessionQuery)
  const projects = new Map(session?.projects.map(({ id, name }) => [id, name]))
  // The filters load both lists anyway, so the names of users and keys show right away.
  const userNames = useAllUsers().map(({ id, name, email }) => [id, name || email] as const)
  const keyNames = useAllKeys().map(({ id, name }) => [id, name] as const)
  const organizationName = session ? [[session.organization.id, session.organization.name] as const] : []
  const names = new Map([...organizationName, ...useNames(entries?.flatMap(namedIn) ?? []), ...userNames, ...keyNames])
  const isFiltered = Object.values(filters).some(value => value !== null)
  const columns: Column<Entry>[] = [
    { label: 'When', cell: ({ at }) => <Moment at={at} />, isNarrow: true },
    { label: 'Action', cell: ({ action, reason }) => <Action action={action} reason={reason} /> },
    { label: 'Who', cell: ({ actor }) => <Actor actor={actor} names={names} /> },
    { label: 'Target', cell: entry => <AuditTarget entry={entry} names={names} projects={projects} /> },
    {
      label: 'Project',
      cell: ({ projectId }) =>
        projectId === null ? 'All' : <ShownText text={projects.get(projectId) ?? projectId.slice(0, 8)} />,
    },
    {
      label: 'Request',
      cell: ({ requestId }) => <CopyIcon text={requestId} label="Copy request ID" />,
      isActions: true,
    },
  ]
  return (
    <Stack gap="sm">
      <TabBar about="Every change that a user or a key made, with its request ID. Entries are kept for a year by default." />
      <OneProjectOnly>Entries about other projects or the whole organization aren't shown.</OneProjectOnly>
      <AuditFilterBar filters={filters} names={names} />
      {query.error && !query.data ? (
        <FaultAlert error={query.error} onRetry={query.refetch} />
      ) : entries?.length === 0 && !query.hasNextPage ? (
        <Empty title={isFiltered ? 'No entries match these filters' : 'No changes yet'}>
          {isFiltered
            ? 'Remove some filters, or clear them all.'
            : 'Changes to projects, keys, prompts, and reviews appear here, along with who made them.'}
        </Empty>
      ) : (
        <div style={{ opacity: query.isPlaceholderData ? 0.6 : 1 }}>
          <StackedTable label="Audit log" columns={columns} rows={entries} keyOf={({ id }) => id} />
        </div>
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

/** The IDs in an entry whose names can be looked up. */
const namedIn = ({ actor, action, targetId }: Entry): (string | null)[] => [
  actor.userId,
  actor.keyId,
  /^(user|api_key)\./.test(action) ? targetId : null,
]

function Action({ action, reason }: Pick<Entry, 'action' | 'reason'>) {
  return (
    <>
      {auditActionLabel(action)}
      {reason !== null && (
        <Text size="xs" c="dimmed" dir="auto">
          {action !== 'prompt.roll_back' && 'Gate overridden: '}
          <ShownText text={reason} />
        </Text>
      )}
    </>
  )
}

function Actor({ actor: { userId, keyId }, names }: { actor: Entry['actor']; names: ReadonlyMap<string, string> }) {
  const user = userId === null ? null : (names.get(userId) ?? userId.slice(0, 8))
  const key = keyId === null ? null : (names.get(keyId) ?? `Key ${keyId.slice(0, 8)}`)
  if (user === null) return key === null ? 'Admin token' : <ShownText text={key} />
  return (
    <Group gap={4}>
      <Text size="sm" inherit dir="auto">
        <ShownText text={user} />
      </Text>
      <Text size="xs" c="dimmed" dir="auto">
        {key === null ? (
          'via Cloudflare Access'
        ) : (
          <>
            with <ShownText text={key} />
          </>
        )}
      </Text>
    </Group>
  )
}
