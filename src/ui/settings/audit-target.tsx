import { Anchor, Code } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { AuditLog } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { withParameters } from '../parts/parameters.ts'
import { TextLink } from '../parts/text-link.tsx'
import { NO_AUDIT_FILTERS } from './audit-filters.ts'

interface AuditTargetProps {
  entry: AuditLog['entries'][number]
  names: ReadonlyMap<string, string>
  projects: ReadonlyMap<string, string>
}

const SHORT = 8

/** An entry's target, by name if it has one, with links to it and to its history. */
export function AuditTarget({ entry, names, projects }: AuditTargetProps) {
  const [parameters] = useSearchParams()
  const { targetId } = entry
  const name = names.get(targetId) ?? projects.get(targetId)
  const history = withParameters({ ...NO_AUDIT_FILTERS, targetId })(parameters)
  return (
    <>
      <Place entry={entry}>
        {name === undefined ? <Code title={targetId}>{targetId.slice(0, SHORT)}</Code> : <ShownText text={name} />}
      </Place>
      {parameters.get('targetId') !== targetId && (
        <>
          {' '}
          <Anchor
            component={Link}
            href={`/settings/audit-log?${history}`}
            size="xs"
            aria-label={`History of ${name ?? targetId.slice(0, SHORT)}`}
          >
            History
          </Anchor>
        </>
      )}
    </>
  )
}

const PAGES: ReadonlyMap<string, string> = new Map([
  ['prompt', '/prompts'],
  ['knowledge_doc', '/knowledge-docs'],
  ['dataset', '/datasets'],
])

/** Links to an existing dataset or text, with the versions that the entry changed. */
function Place({
  entry: { action, targetId, beforeId, afterId },
  children,
}: {
  entry: AuditTargetProps['entry']
  children: ReactNode
}) {
  const [kind, act] = action.split('.')
  const page = PAGES.get(act === 'change_item' ? '' : (kind ?? ''))
  if (page === undefined || act === 'delete') return children
  const versions = { version: afterId === targetId ? null : afterId, compare: afterId && beforeId }
  return <TextLink href={pathWith(`${page}/${targetId}`, versions)}>{children}</TextLink>
}
