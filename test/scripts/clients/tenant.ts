import * as v from 'valibot'
import { call } from '../../../scripts/call.ts'
import { ADMIN_TOKEN } from '../server.ts'

/** A separate project on a running server, with a prompt for the step `answer` that has two versions. */
export interface Tenant {
  url: string
  /** Has the `ingest` and `read` scopes by default. */
  key: string
  /** The key that can do everything in the organization. */
  ownerKey: string
  projectId: string
  projectSlug: string
  /** The prompt's versions, oldest first. The last one is active. */
  versionIds: string[]
}

const Organization = v.object({ apiKey: v.object({ key: v.string() }) })
const Project = v.object({ id: v.string(), slug: v.string() })
const Key = v.object({ key: v.string() })
const Prompt = v.object({ id: v.string() })
const Prompts = v.object({ prompts: v.tuple([v.object({ versionId: v.string() })]) })

let tenantCount = 0

export async function newTenant(url: string, scopes: readonly string[] = ['ingest', 'read']): Promise<Tenant> {
  const slug = `clients-${++tenantCount}`
  const post = (token: string, path: string, body: object) => call(url, token, 'POST', path, body)
  const { apiKey } = v.parse(Organization, await post(ADMIN_TOKEN, '/api/orgs', { slug, name: 'Clients' }))
  const project = v.parse(Project, await post(apiKey.key, '/api/projects', { slug: 'support', name: 'Support' }))
  const scope = { name: 'Clients', projectSlug: project.slug, scopes }
  const { key } = v.parse(Key, await post(apiKey.key, '/api/api-keys', scope))
  const active = async () => {
    const list = await call(url, apiKey.key, 'GET', `/api/prompts?projectSlug=${project.slug}&stepId=answer`)
    return v.parse(Prompts, list).prompts[0].versionId
  }
  const prompt = { projectSlug: project.slug, stepId: 'answer', content: 'Answer.' }
  const { id } = v.parse(Prompt, await post(apiKey.key, '/api/prompts', prompt))
  const first = await active()
  await post(apiKey.key, `/api/prompts/${id}/versions`, { content: 'Answer in one sentence.', activate: true })
  return {
    url,
    key,
    ownerKey: apiKey.key,
    projectId: project.id,
    projectSlug: project.slug,
    versionIds: [first, await active()],
  }
}
