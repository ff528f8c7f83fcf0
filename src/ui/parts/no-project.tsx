import { Code } from '@mantine/core'
import { curlOf } from './curl.ts'
import { Empty } from './empty.tsx'
import { useMay } from './scopes.tsx'
import { TextLink } from './text-link.tsx'

/** Shown on every page of an organization without projects. */
export function NoProject() {
  const mayManage = useMay('manage')
  if (mayManage === undefined) return null
  return mayManage ? (
    <Empty
      title="No projects yet"
      curl={curlOf('/api/projects', { method: 'POST', body: { slug: 'support', name: 'Customer support' } })}
    >
      A project contains one pipeline's traces, prompts, and knowledge docs. Create one{' '}
      <TextLink href="/settings/projects" underline="always">
        under Settings
      </TextLink>{' '}
      or from a terminal:
    </Empty>
  ) : (
    <Empty title="No projects yet">
      A project contains one pipeline's traces, prompts, and knowledge docs. To create one, you need a key with the{' '}
      <Code>manage</Code> scope. Ask a manager in your organization.
    </Empty>
  )
}
