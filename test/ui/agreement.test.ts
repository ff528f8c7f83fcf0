import * as v from 'valibot'
import { newOrganization, type Organization } from './organization.ts'
import { answered, STEP } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const Outputs = v.object({ outputs: v.array(v.unknown()) })

let organization: Organization
/** A manager's key, which may see undecided outputs because it casts no votes. */
let managerKey: string

/**
 * Three people vote blind on 12 outputs of a step: two agree on all of them, and the third differs on the first three.
 * An adjudicator decides on the first output.
 */
test.beforeAll(async () => {
  organization = await newOrganization()
  const { call, post, ownerKey, project, reviewer } = organization
  const managing = { name: 'Manager', projectSlug: project.slug, scopes: ['manage', 'read'] }
  const created = await call('POST', '/api/api-keys', managing, ownerKey)
  managerKey = v.parse(v.object({ key: v.string() }), created).key
  const policy = { default: { reviewers: 3, blind: true } }
  await call('PUT', `/api/projects/${project.id}/review-policy`, policy, ownerKey)
  const samples = Array.from({ length: 12 }, (_, index) => answered(index))
  await post(samples.flatMap(({ events }) => events))
  const people = [await reviewer('Ada'), await reviewer('Ben'), await reviewer('Noor')]
  const correction = { decision: 'correct', approvedOutput: { answer: 'No', months: 1 } }
  for (const [index, { span_id }] of samples.entries()) {
    for (const { name, key } of people) {
      const differs = name === 'Noor' && index < 3
      const comment = 'The premium plan has 24 months.'
      const body = differs ? { ...correction, errorType: 'reasoning_error', comment } : { decision: 'accept' }
      await call('PUT', `/api/spans/${span_id}/review`, body, key)
    }
  }
  const judge = await reviewer('Kofi')
  await call('PATCH', `/api/users/${judge.id}`, { adjudicator: true }, ownerKey)
  await call('PUT', `/api/spans/${samples[0]?.span_id}/review`, { decision: 'accept' }, judge.key)
})

test('the page shows the figures, and each number links to the outputs that it counts', async ({ page, context }) => {
  await signIn(context, managerKey)
  await page.goto('/agreement?project=support')
  const main = page.getByRole('main')
  // Of 36 pairs of votes, 9 × 3 + 3 × 1 agree.
  await expect(main.getByRole('region', { name: 'Decisions' })).toContainText('On 75% of 12 outputs, everybody agrees.')
  await expect(main.getByRole('region', { name: 'Decisions' })).toContainText('83% of 36')
  await expect(main.getByRole('region', { name: 'Decisions' })).toContainText('12 outputs: too few to tell')
  const pairs = main.getByRole('region', { name: 'Pairs of reviewers' }).getByRole('table')
  const pairsOfAda = pairs.getByRole('row', { name: /^Ada/ })
  await expect(pairsOfAda).toContainText('100%12 outputs')
  await expect(pairsOfAda).toContainText('75%12 outputs')
  const reviewers = main.getByRole('table', { name: 'Reviewers' })
  await expect(reviewers.getByRole('row', { name: /^Noor/ })).toContainText('75% of 24')
  await expect(reviewers.getByRole('row', { name: /^Noor/ })).toContainText('0% of 1')
  await expect(reviewers.getByRole('row', { name: /^Ada/ })).toContainText('100% of 1')
  await expect(main.getByRole('img', { name: /^Agreement by week/ })).toBeVisible()
  await main.getByRole('radiogroup', { name: 'By week view' }).getByText('Table').click()
  await expect(main.getByRole('table', { name: 'Agreement by week' })).toContainText('83% of 36')

  const links = await page.locator('main a[href^="/agreement/outputs?"]').all()
  expect(links.length).toBeGreaterThan(12)
  for (const link of links) {
    const text = (await link.textContent()) ?? ''
    const { searchParams } = new URL((await link.getAttribute('href')) ?? '', 'http://localhost')
    const { project, ...filters } = Object.fromEntries(searchParams)
    const query = new URLSearchParams({ projectSlug: project ?? '', ...filters })
    const answer = await organization.call('GET', `/api/agreement/outputs?${query}`, undefined, managerKey)
    const { length } = v.parse(Outputs, answer).outputs
    if (text.endsWith('%')) expect([text, length > 0]).toEqual([text, true])
    else expect([String(searchParams), length]).toEqual([String(searchParams), Number(text)])
  }

  await pairs.getByRole('link', { name: 'Ada and Noor: 75%. They disagree on 3 outputs.' }).click()
  const rows = page.getByRole('table', { name: 'Compared votes' }).getByRole('row')
  await expect(rows).toHaveCount(1 + 3)
  // Removing the label filter also turns off the filters that need it.
  await page.getByRole('button', { name: 'Remove filter: Compared', exact: true }).click()
  await expect(rows).toHaveCount(1 + 12)
})

test('an output on which reviewers disagree links to the guideline and to its trace', async ({ page, context }) => {
  await signIn(context, managerKey)
  await page.goto('/agreement?project=support')
  const differing = page.getByRole('region', { name: 'Where reviewers disagree most' })
  const first = differing.getByRole('listitem').filter({ hasText: 'Kofi, adjudicator' }).first()
  await expect(first).toContainText('The premium plan has 24 months.')
  await first.getByRole('button', { name: `Guideline for ${STEP}` }).click()
  const dialog = page.getByRole('dialog', { name: `Guideline for ${STEP}` })
  await expect(dialog).toContainText('No guideline yet.')
  await dialog.getByRole('button', { name: 'Add guideline' }).click()
  await page.getByLabel("How to judge this step's outputs").fill('The premium plan is always meant.')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(dialog).toContainText('The premium plan is always meant.')
  await dialog.getByRole('button', { name: 'Close' }).click()
  await first.getByRole('link', { name: STEP }).click()
  await expect(page).toHaveURL(/\/traces\/[^?]+\?.*span=/)
})

test('if there are no votes, the page says how to get some', async ({ page, context }) => {
  const { key } = await newOrganization()
  await signIn(context, key)
  await page.goto('/?project=support')
  await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name: 'Agreement' }).click()
  await expect(page.getByRole('heading', { name: 'Nothing to compare yet' })).toBeVisible()
  await expect(page.getByRole('main').getByRole('link', { name: 'review policy' })).toHaveAttribute(
    'href',
    /^\/settings\/review-policy\?/,
  )
})

test("reviewers don't see the section in the navigation, and its page says who can see it", async ({
  page,
  context,
}) => {
  const { key } = await organization.reviewer('Zoe')
  await signIn(context, key)
  await page.goto('/agreement?project=support')
  await expect(page.getByText('Only managers and adjudicators can see how often reviewers agree')).toBeVisible()
  const sections = page.getByRole('navigation', { name: 'Sections' })
  await expect(sections.getByRole('link', { name: 'Review' })).toBeVisible()
  await expect(sections.getByRole('link', { name: 'Agreement' })).toHaveCount(0)
})
