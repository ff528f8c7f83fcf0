import type { Env } from '../env.ts'
import { logFault } from '../http/errors.ts'
import { JOB_ATTEMPT_MS, JOB_DEADLINE_MS, NOTICED_PROBLEMS, NOTICED_PROJECTS, PROBLEM_PASS_MS } from '../limits.ts'
import { noticeStates } from '../problems/notice.ts'
import { Deadline } from '../store/core/deadline.ts'
import { openStore, type UnscopedStore } from '../store/core/store.ts'
import { findDuePass, savePass } from '../store/core/sweeps.ts'
import type { ProblemPlace } from '../store/problems/problem-list.ts'
import { findSendingProject } from '../store/webhooks/sending.ts'

/**
 * Continues a pass over the problems of projects that send `problem.changed`, a few per minute. Most of a problem's
 * states follow from data, so without this pass, nobody would notice a change until somebody looked at the problem.
 */
export async function noticeProblems(env: Env, unscoped: UnscopedStore, now: number): Promise<void> {
  const cursor = await findDuePass(unscoped, 'problems', now)
  if (cursor === undefined) return
  let [projectKey, place]: [number, ProblemPlace | null] = cursor === '' ? [0, null] : JSON.parse(cursor)
  for (let count = 0; count < NOTICED_PROJECTS; count++) {
    const found = await findSendingProject(unscoped, 'problem.changed', place ? projectKey : projectKey + 1)
    if (!found) {
      await savePass(unscoped, 'problems', { cursor: '', dueAt: now + PROBLEM_PASS_MS })
      return
    }
    const after = found.key === projectKey ? place : null
    projectKey = found.key
    try {
      const store = openStore(env, found.organization, new Deadline(JOB_DEADLINE_MS, JOB_ATTEMPT_MS))
      place = await noticeStates(store, found, { after, limit: NOTICED_PROBLEMS, now })
    } catch (error) {
      // The next pass tries again. This pass continues with the other projects.
      logFault('problems_not_noticed', { projectKey }, error)
      place = null
    }
  }
  await savePass(unscoped, 'problems', { cursor: JSON.stringify([projectKey, place]), dueAt: now })
}
