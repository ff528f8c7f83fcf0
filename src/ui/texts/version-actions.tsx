import { Button, Group } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { IconListTree } from '../icons/index.ts'
import { useMay } from '../parts/scopes.tsx'
import { ActivateVersion } from './activate-version.tsx'
import { CompareSelect } from './compare-select.tsx'
import type { TextKind, Version, VersionedText } from './kinds.ts'
import { TryOnItem } from './try-on-item.tsx'

interface VersionActionsProps {
  kind: TextKind
  text: VersionedText
  version: Version
}

/** The actions on a version. */
export function VersionActions({ kind, text, version }: VersionActionsProps) {
  const mayManage = useMay('manage')
  const [parameters] = useSearchParams()
  const project = parameters.get('project')
  return (
    <Group gap="xs">
      {kind.hasSchema && (
        <Button
          component={Link}
          href={pathWith('/traces', { promptVersionId: version.id, project })}
          size="xs"
          variant="default"
          leftSection={<IconListTree size={14} aria-hidden />}
        >
          Traces with this version
        </Button>
      )}
      {kind.hasSchema && <TryOnItem text={text} version={version} />}
      <CompareSelect text={text} version={version} />
      {mayManage && !version.isActive && <ActivateVersion kind={kind} text={text} version={version} />}
    </Group>
  )
}
