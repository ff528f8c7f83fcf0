import { Anchor, Code } from '@mantine/core'
import { Link } from 'wouter'
import { curlOf } from './curl.ts'
import { Empty } from './empty.tsx'
import { useMay } from './scopes.tsx'

/** Stands on every page of an organization that has no project yet. */
export function NoProject() {
  const mayManage = useMay('manage')
  if (mayManage === undefined) return null
  return mayManage ? (
    <Empty
      title="No project yet"
      curl={curlOf('/api/projects', { method: 'POST', body: { slug: 'support', name: 'Customer support' } })}
    >
      A project holds the traces, prompts and knowledge docs of one pipeline. Make one{' '}
      <Anchor component={Link} href="/settings/projects" inherit underline="always">
        under Settings
      </Anchor>
      , or from a terminal:
    </Empty>
  ) : (
    <Empty title="No project yet">
      A project holds the traces, prompts and knowledge docs of one pipeline. Making one needs the scope{' '}
      <Code>manage</Code>, which the key that you signed in with does not have: ask whoever manages your organization.
    </Empty>
  )
}
