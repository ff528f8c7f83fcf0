import { Box, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { loadCode } from '../code/index.tsx'
import { IconPlus } from '../icons/index.ts'
import { curlOf } from '../parts/curl.ts'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { withParameters } from '../parts/parameters.ts'
import { MissingScope, useMay } from '../parts/scopes.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import type { TextKind } from './kinds.ts'
import { NewTextModal } from './new-text-modal.tsx'
import { textsQuery } from './queries.ts'
import { TextRow } from './text-row.tsx'
import classes from './texts-page.module.css'

const EXPECTED_ROWS = 6

/** A project's texts of one kind, with their active versions. */
export function TextsPage({ kind }: { kind: TextKind }) {
  usePageTitle(kind.many)
  const projectSlug = useProject()
  const mayManage = useMay('manage')
  const query = useInfiniteQuery(textsQuery(kind, projectSlug))
  const [parameters, setParameters] = useSearchParams()
  const items = query.data?.pages.flatMap(page => page.items)
  const setNew = (isNew: boolean) => setParameters(withParameters({ new: isNew ? '1' : null }))
  return (
    <Stack gap="sm" maw={1100}>
      <Group justify="space-between" align="start" gap="xs">
        <Box flex="1 1 16rem">
          <Title order={1}>{kind.many}</Title>
          <Text size="sm" c="dimmed">
            {kind.purpose}
          </Text>
        </Box>
        {mayManage !== false && (
          <Button
            size="xs"
            flex="none"
            disabled={!mayManage || projectSlug === undefined}
            leftSection={<IconPlus size={14} aria-hidden />}
            onPointerEnter={loadCode}
            onClick={() => setNew(true)}
          >
            New {kind.one}
          </Button>
        )}
      </Group>
      {mayManage === false && (
        <MissingScope scope="manage">You can view {kind.many.toLowerCase()} but not change them</MissingScope>
      )}
      {query.error && !query.data && <FaultAlert error={query.error} onRetry={query.refetch} />}
      {query.isPending && projectSlug !== undefined && <Expected />}
      {projectSlug === undefined && <NoProject />}
      {items?.length === 0 && projectSlug !== undefined && <NoTexts kind={kind} projectSlug={projectSlug} />}
      {items && items.length > 0 && (
        <ul className={classes.list} aria-label={kind.many} data-old={query.isPlaceholderData || undefined}>
          {items.map(item => (
            <TextRow key={item.id} kind={kind} item={item} />
          ))}
        </ul>
      )}
      <ShowMore query={query} />
      {projectSlug !== undefined && mayManage && (
        <NewTextModal
          key={projectSlug}
          kind={kind}
          projectSlug={projectSlug}
          isOpen={parameters.has('new')}
          onClose={() => setNew(false)}
        />
      )}
    </Stack>
  )
}

const Expected = () => (
  <ul className={classes.list} aria-busy aria-label="Loading">
    {Array.from({ length: EXPECTED_ROWS }, (_, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: placeholder rows
      <li key={index} className={classes.place}>
        <Skeleton h={16} w="30%" />
        <Skeleton h={14} w="80%" mt={8} />
      </li>
    ))}
  </ul>
)

const NoTexts = ({ kind, projectSlug }: { kind: TextKind; projectSlug: string }) => (
  <Empty
    title={`No ${kind.many.toLowerCase()} in this project yet`}
    curl={curlOf(kind.api, {
      method: 'POST',
      body: {
        projectSlug,
        [kind.name.field]: kind.name.example,
        ...(kind.hasTitle && { title: 'Refund policy' }),
        content: kind.exampleContent,
        ...(kind.hasSchema && { outputSchema: { type: 'object', required: ['category'] } }),
      },
    })}
  >
    Create the first one with “New {kind.one}”, or send it from your repository with a key that has the{' '}
    <code>manage</code> scope:
  </Empty>
)
