import * as v from 'valibot'
import { call } from './call.ts'
import { PROBLEMS } from './demo/problems.ts'
import { versionIdOf } from './seed-experiments.ts'

/** Where to seed, a manager's key, and the owner's key, which sees all users. */
interface Target {
  url: string
  key: string
  owner: string
  project: { id: string; slug: string }
}

const Problems = v.object({
  problems: v.array(v.object({ id: v.string(), stepId: v.string(), errorType: v.nullable(v.string()) })),
})
const Users = v.object({ users: v.array(v.object({ id: v.string(), email: v.string() })) })

/** Records what people have decided about the demo's problems. Running this again changes nothing. */
export async function seedProblems(target: Target): Promise<void> {
  const { url, key, owner, project } = target
  const list = `/api/problems?projectSlug=${project.slug}&limit=200`
  const { problems } = v.parse(Problems, await call(url, key, 'GET', list))
  const { users } = v.parse(Users, await call(url, owner, 'GET', '/api/users?limit=200'))
  for (const { stepId, errorType, version, assignee, dismissed } of PROBLEMS) {
    const problem = problems.find(each => each.stepId === stepId && each.errorType === errorType)
    if (!problem) throw new Error(`The demo has no problem ${errorType} in ${stepId}`)
    await call(url, key, 'PATCH', `/api/problems/${problem.id}`, {
      ...(version && { candidateVersionId: await versionIdOf(target, stepId, version) }),
      ...(assignee && { assigneeId: users.find(({ email }) => email === assignee)?.id }),
      ...(dismissed && { dismissed: true, note: dismissed }),
    })
  }
}
