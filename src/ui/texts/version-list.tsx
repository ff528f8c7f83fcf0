import { Badge, Group, Text } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import { IconCheck } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { Moment } from '../parts/moment.tsx'
import { withParameters } from '../parts/parameters.ts'
import { Acceptance } from './acceptance.tsx'
import type { TextKind, Version, VersionedText } from './kinds.ts'
import classes from './version-list.module.css'

interface VersionListProps {
  kind: TextKind
  text: VersionedText
  chosen: Version | null | undefined
}

/** A text's versions, newest first. */
export function VersionList({ kind, text, chosen }: VersionListProps) {
  const [parameters] = useSearchParams()
  const addressOf = (version: Version) => {
    const isBase = parameters.get('compare') === version.id
    const change = withParameters({ version: version.id, new: null, ...(isBase && { compare: null }) })
    return `${kind.path}/${text.id}?${change(parameters)}`
  }
  return (
    <nav aria-label="Versions" className={classes.nav}>
      <ul className={classes.list}>
        {text.versions.map(version => (
          <li key={version.id}>
            <Link
              href={addressOf(version)}
              className={classes.link ?? ''}
              aria-current={version.id === chosen?.id ? 'true' : undefined}
            >
              <Group justify="space-between" gap="xs" wrap="nowrap">
                <Text size="sm" fw={600}>
                  Version {version.number}
                </Text>
                {version.isActive && <ActiveMark />}
              </Group>
              {version.note !== null && (
                <Text size="xs" lineClamp={2} dir="auto" className={classes.note}>
                  <ShownText text={version.note} />
                </Text>
              )}
              <Text size="xs" c="dimmed">
                <Moment at={version.createdAt} />
              </Text>
              {version.decided && <Acceptance {...version.decided} pathOf={null} />}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Marks the active version. */
export const ActiveMark = () => (
  <Badge
    size="sm"
    variant="light"
    tt="none"
    leftSection={<IconCheck size={12} aria-hidden />}
    className={classes.active}
  >
    Active
  </Badge>
)
