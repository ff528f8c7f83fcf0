import { Button, Group, Skeleton, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import { IconArrowsExchange, IconX } from '../icons/index.ts'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { withParameters } from '../parts/parameters.ts'
import { CompareSelect } from './compare-select.tsx'
import type { TextKind, Version, VersionedText } from './kinds.ts'
import { versionDiffQuery } from './queries.ts'
import { SchemaChanges } from './schema-changes.tsx'
import { TextDiff } from './text-diff.tsx'

interface ComparisonProps {
  kind: TextKind
  text: VersionedText
  before: Version
  after: Version
}

/** A comparison of two versions: the text as a diff, the schema as a list of changes. */
export function Comparison({ kind, text, before, after }: ComparisonProps) {
  const [, setParameters] = useSearchParams()
  const compare = (version: string, other: string | null) => setParameters(withParameters({ version, compare: other }))
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <Title order={2}>
          Version {before.number} to version {after.number}
        </Title>
        <Group gap="xs">
          <CompareSelect text={text} version={after} />
          <Button
            size="xs"
            variant="default"
            leftSection={<IconArrowsExchange size={14} aria-hidden />}
            onClick={() => compare(before.id, after.id)}
          >
            Swap
          </Button>
          <Button
            size="xs"
            variant="default"
            leftSection={<IconX size={14} aria-hidden />}
            onClick={() => compare(after.id, null)}
          >
            Stop comparing
          </Button>
        </Group>
      </Group>
      <TextDiff label="Content" language="text" before={before.content} after={after.content} />
      {kind.hasSchema && <SchemaPart kind={kind} text={text} before={before} after={after} />}
    </Stack>
  )
}

function SchemaPart({ kind, text, before, after }: ComparisonProps) {
  const { data, error, refetch } = useQuery(versionDiffQuery(kind, text.id, before.id, after.id))
  return (
    <Stack gap={6} component="section" aria-label="Output schema">
      <Title order={3}>Output schema</Title>
      {error && !data && <FaultAlert error={error} onRetry={refetch} />}
      {!error && !data && <Skeleton h={20} w="50%" />}
      {data && <SchemaChanges changes={data.schema} />}
    </Stack>
  )
}
