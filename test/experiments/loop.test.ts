import { it } from 'vitest'
import { newWorkerClient } from '../client/service.ts'
import { newOrg } from '../support/org.ts'
import { newReviewed } from '../support/reviews.ts'

const STEP = 'answer'

interface Answer {
  topic: string
  text: string
}

interface Question {
  question: string
}

const QUESTIONS = ['Is it waterproof?', 'How long is the warranty?', 'Where is my package?', 'Can I return it?']
const TOPICS = ['product', 'warranty', 'delivery', 'returns']
const textOf = (place: number) => `You asked about ${TOPICS[place]}, and this is the whole answer to it.`

it('corrected outputs lead to a version that is proven, activated, and rolled back', async ({ expect }) => {
  const org = await newOrg()
  const prompt = (await org.owner.post('/api/prompts', { projectSlug: 'support', stepId: STEP, content: 'Answer.' }))
    .body
  const path = `/api/prompts/${prompt.id}`

  // Production answers four questions, but only the last answer has the right topic. A reviewer decides on each answer.
  for (const [place, question] of QUESTIONS.entries()) {
    const { step } = await newReviewed(null, org)
    const span_id = crypto.randomUUID()
    const approvedOutput = { topic: TOPICS[place], text: textOf(place) }
    const output = place === 3 ? approvedOutput : { topic: 'other', text: textOf(place) }
    await step({ span_id, step_id: STEP, input: { question }, output, prompt_version_id: prompt.versionId })
    const review = place === 3 ? { decision: 'accept' } : { decision: 'correct', approvedOutput }
    expect((await org.owner.put(`/api/spans/${span_id}/review`, review)).status).toBe(200)
  }
  const [dataset] = (await org.read.get('/api/datasets?projectSlug=support')).body.datasets
  expect(dataset).toMatchObject({ stepId: STEP, items: 4, corrected: 3, accepted: 1 })
  // The default split depends on the input. This gate looks at the test split, so all items move there.
  const { items } = (await org.read.get(`/api/datasets/${dataset.id}/items`)).body
  for (const { id } of items) await org.owner.patch(`/api/datasets/${dataset.id}/items/${id}`, { split: 'test' })
  await org.owner.put(`/api/projects/${org.project.id}/gates/${STEP}`, { minItems: 3, maxRegressed: 0, maxUnjudged: 0 })

  // The candidate gets every topic right except one that was right before, and rewords one answer.
  const candidate = (await org.owner.post(`${path}/versions`, { content: 'Answer, and name the topic.' })).body
  const answer = ({ question }: Question): Answer => {
    const place = QUESTIONS.indexOf(question)
    const text = place === 0 ? 'It is about the product, and this is all that there is to say.' : textOf(place)
    return { topic: TOPICS[place] ?? '', text }
  }
  const { countersign } = newWorkerClient(org)
  const options = { step: STEP, promptVersionId: candidate.id }
  const worse = await countersign.experiment<Question>(options, ({ input }) => {
    const right = answer(input)
    return right.topic === 'returns' ? { ...right, topic: 'delivery' } : right
  })
  expect(worse.counts).toMatchObject({ passed: 2, failed: 1, unjudged: 1, error: 0, fixed: 2, regressed: 1 })

  const activate = (versionId: string, fields: object = {}) =>
    org.owner.put(`${path}/active-version`, { versionId, ...fields })
  const refused = await activate(candidate.id)
  expect([refused.status, refused.body.code]).toEqual([409, 'gate_not_met'])
  expect(refused.body.details.map((detail: { path: string }) => detail.path).toSorted()).toEqual([
    'maxRegressed',
    'maxUnjudged',
  ])

  // The next candidate has no regressions, and a person judges the reworded answer.
  const better = await countersign.experiment<Question>(options, ({ input }) => answer(input))
  expect(better.counts).toMatchObject({ passed: 3, failed: 0, unjudged: 1, fixed: 2, regressed: 0 })
  expect((await activate(candidate.id)).status).toBe(409)
  const [unjudged] = (await org.read.get(`/api/experiments/${better.id}/items?outcome=unjudged`)).body.items
  expect(unjudged).toMatchObject({ input: { question: QUESTIONS[0] }, change: null })
  const judged = await org.owner.post(`/api/experiments/${better.id}/items/${unjudged.id}/review`, {
    decision: 'accept',
  })
  expect(judged.body).toMatchObject({ outcome: 'passed', change: 'fixed' })
  const report = (await org.read.get(`/api/experiments/${better.id}`)).body
  expect(report.gate).toMatchObject({ met: true, unmet: [], experimentId: better.id })

  expect((await activate(candidate.id)).body.versionId).toBe(candidate.id)
  expect((await activate(prompt.versionId)).body.versionId).toBe(prompt.versionId)
  const { entries } = (await org.owner.get('/api/audit-log?action=prompt.activate')).body
  expect(entries.map(({ afterId }: { afterId: string }) => afterId)).toEqual([prompt.versionId, candidate.id])

  // The output that the person accepted passes in later experiments.
  const again = await countersign.experiment<Question>(options, ({ input }) => answer(input))
  expect(again.counts).toMatchObject({ passed: 4, unjudged: 0, fixed: 3 })
})
