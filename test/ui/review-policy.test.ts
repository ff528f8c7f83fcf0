import { aSpan, aTrace } from '../support/builders.ts'
import { newOrganization, type Organization } from './organization.ts'
import { expect, signIn, test } from './test.ts'

let organization: Organization
test.beforeAll(async () => {
  organization = await newOrganization()
  const trace = aTrace({ name: 'run' })
  const steps = ['generate-answer', 'embed-query'].map(step_id => aSpan({ trace_id: trace.trace_id, step_id }))
  await organization.post([{ type: 'trace', body: trace }, ...steps.map(body => ({ type: 'span' as const, body }))])
})

/** Insights for a week with two active reviewers and this many outputs for each step. */
const weekOf = (outputs: Record<string, number>) => ({
  steps: Object.entries(outputs).map(([stepId, count]) => ({ stepId, outputs: count })),
  reviewers: ['Ada', 'Kofi', 'Idle'].map((name, index) => ({
    userId: crypto.randomUUID(),
    name,
    days: [{ day: '2026-11-20', reviewed: index === 2 ? 0 : 7 }],
  })),
})

test("a policy's effect is shown before the policy is saved, and the queue follows the policy", async ({
  page,
  context,
}) => {
  await signIn(context, organization.ownerKey)
  // The service counts outputs in the background, so this test supplies the counts.
  await page.route('**/api/insights?*', route =>
    route.fulfill({ json: weekOf({ 'generate-answer': 1400, 'embed-query': 2800 }) }),
  )
  await page.goto('/settings/review-policy?project=support')
  const preview = page.getByRole('status')
  await expect(preview).toContainText('About 600 outputs a day, about 300 per person')
  await expect(preview).toContainText('during which 2 people reviewed outputs')
  await page.getByRole('switch', { name: 'People review embed-query' }).click({ force: true })
  await expect(preview).toContainText('About 200 outputs a day, about 100 per person')
  await page.getByLabel('Share for generate-answer').fill('35')
  await expect(preview).toContainText('About 70 outputs a day, about 35 per person')
  await page.getByLabel('Reviewers for generate-answer').fill('2')
  await expect(preview).toContainText('About 70 outputs a day, about 70 per person')
  await expect(preview).toContainText('about 140 reviews a day')
  await page.getByLabel('Review generate-answer blind').check()
  await page.getByLabel('Outputs from traces with negative feedback').check()
  await expect(preview).toContainText('The rules below add more outputs.')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Review policy saved.')).toBeVisible()
  const saved = await organization.call('GET', `/api/projects/${organization.project.id}/review-policy`)
  expect(saved).toMatchObject({
    default: { sample: 1, reviewers: 1, blind: false },
    steps: {
      'generate-answer': { sample: 0.35, reviewers: 2, blind: true },
      'embed-query': { sample: 0, reviewers: 1, blind: false },
    },
    always: ['negative'],
  })
  await page.reload()
  await expect(page.getByLabel('Share for generate-answer')).toHaveValue('35%')
  await expect(page.getByRole('switch', { name: 'People review embed-query' })).not.toBeChecked()

  await page.goto('/review?project=support&stepId=embed-query')
  await expect(page.getByRole('heading', { name: 'No outputs match these filters' })).toBeVisible()
  await page.goto('/review?project=support&stepId=embed-query&all=true')
  await expect(page.getByRole('main')).toContainText('embed-query')
  await expect(page.getByRole('main')).toContainText('answer')

  await page.goto('/settings/review-policy?project=support')
  await page.getByRole('button', { name: 'Review embed-query: Same as other steps' }).click()
  await expect(page.getByRole('switch', { name: 'People review embed-query' })).toBeChecked()
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('Review policy saved.')).toBeVisible()
  const followed = await organization.call('GET', `/api/projects/${organization.project.id}/review-policy`)
  expect(followed).toHaveProperty('steps', { 'generate-answer': { sample: 0.35, reviewers: 2, blind: true } })
})
