import type { Page } from '@playwright/test'
import * as v from 'valibot'
import { expectAccessibleOnEveryScreen } from './accessibility.ts'
import { newOrganization, type Organization } from './organization.ts'
import { answer, answered, STEP } from './sample-project.ts'
import { expect, signIn, test } from './test.ts'

const Datasets = v.object({ datasets: v.array(v.object({ version: v.string(), items: v.number() })) })
const Span = v.object({
  approvedOutput: v.unknown(),
  review: v.object({ by: v.nullable(v.string()), basis: v.nullable(v.string()), errorType: v.nullable(v.string()) }),
})

const Located = v.object({ trace: v.object({ id: v.string() }) })

/** Creates a project with an adjudicator and three answers, each of which three people review blind. */
async function withPanel() {
  const organization = await newOrganization()
  const { project, call, ownerKey, post } = organization
  await call('PUT', `/api/projects/${project.id}/review-policy`, { steps: { [STEP]: { reviewers: 3, blind: true } } })
  const samples = [0, 1, 2].map(index => answered(index))
  await post(samples.flatMap(({ events }) => events))
  const people = {
    ada: await organization.reviewer('Ada'),
    kofi: await organization.reviewer('Kofi'),
    mei: await organization.reviewer('Mei'),
    grace: await organization.reviewer('Grace'),
  }
  await call('PATCH', `/api/users/${people.grace.id}`, { adjudicator: true }, ownerKey)
  return { organization, spanIds: samples.map(({ span_id }) => span_id), ...people }
}

const datasetOf = async ({ call, project }: Organization) =>
  v.parse(Datasets, await call('GET', `/api/datasets?projectSlug=${project.slug}`)).datasets[0]

const spanOf = async ({ call }: Organization, id: string | undefined) =>
  v.parse(Span, await call('GET', `/api/spans/${id}`))

const output = (page: Page) => page.getByRole('region', { name: 'Output', exact: true })
const showsItem = (page: Page, index: number) => expect(output(page)).toContainText(answer(index).answer)

test('three people review a step blind, and an adjudicator settles their disagreement, all from the keyboard', async ({
  page,
  context,
  anotherBrowser,
}) => {
  const { organization, spanIds, ada, kofi, mei, grace } = await withPanel()
  const [agreed, disputed, corrected] = spanIds
  // First, the three people agree on the last output: each corrects it to the same value.
  for (const { key } of [ada, kofi, mei]) {
    const correction = { decision: 'correct', approvedOutput: answer(7) }
    await organization.call('PUT', `/api/spans/${corrected}/review`, correction, key)
  }
  const before = await datasetOf(organization)
  expect(before?.items).toBe(1)

  // Then two people, one after the other, accept the other two outputs.
  await signIn(context, ada.key)
  const second = await anotherBrowser(kofi.key)
  for (const each of [page, second]) {
    await each.goto('/review')
    await showsItem(each, 0)
    await expect(each.getByRole('note')).toHaveText(
      "This output needs votes from 3 reviewers. Your decision counts as one vote. You won't see other people's reviews until there's a decision on the output.",
    )
    await each.keyboard.press('a')
    await showsItem(each, 1)
    await each.keyboard.press('a')
    await expect(each.getByText('All done. Nice work!')).toBeVisible()
    await expect(each.getByText('3 reviewed today')).toBeVisible()
  }
  expect(await datasetOf(organization)).toEqual(before)

  // The third reviewer can't see the others' votes, accepts the first output, and corrects the second.
  const third = await anotherBrowser(mei.key)
  await third.goto('/review')
  await showsItem(third, 0)
  await expect(third.getByRole('region', { name: 'Votes' })).toBeHidden()
  await third.keyboard.press('a')
  await showsItem(third, 1)
  await third.keyboard.press('e')
  const editor = third.getByRole('textbox', { name: 'Approved output' })
  await expect(editor).toBeFocused()
  await third.keyboard.press('Control+a')
  await third.keyboard.insertText(JSON.stringify(answer(12)))
  await third.keyboard.press('Control+Enter')
  await expect(third.getByText('All done. Nice work!')).toBeVisible()
  await expect.poll(async () => (await datasetOf(organization))?.items).toBe(2)
  expect(await spanOf(organization, agreed)).toMatchObject({ review: { by: ada.id, basis: 'votes' } })
  expect(await spanOf(organization, disputed)).toMatchObject({ approvedOutput: null })
  await third.goto('/adjudication')
  await expect(third.getByText("You aren't an adjudicator")).toBeVisible()

  // A new policy doesn't change how many people have to review the disputed output.
  const path = `/api/projects/${organization.project.id}/review-policy`
  await organization.call('PUT', path, { steps: { [STEP]: { reviewers: 2, blind: true } } })

  // The adjudicator compares the votes, writes a reason, and decides in favor of the third reviewer's vote.
  const fourth = await anotherBrowser(grace.key)
  await fourth.goto('/review')
  await fourth.getByRole('link', { name: 'Adjudication 1' }).click()
  await showsItem(fourth, 1)
  await expect(fourth.getByRole('note')).toHaveText(
    "This output needs votes from 3 reviewers. You're an adjudicator, so your decision is final right away.",
  )
  const votes = fourth.getByRole('region', { name: 'Votes' })
  await expect(votes).toContainText('The 3 reviewers disagree, so an adjudicator decides.')
  await expect(votes.getByText('Same as the output')).toHaveCount(2)
  await fourth.keyboard.press('d')
  await expect(votes.getByRole('radio', { name: 'Vote 1' })).toBeChecked()
  await fourth.keyboard.press('r')
  await fourth.keyboard.type('It says so in the contract.')
  await fourth.keyboard.press('Escape')
  await expectAccessibleOnEveryScreen(fourth)
  await fourth.keyboard.press('3')
  await expect(fourth.getByText('No disputes')).toBeVisible()
  await expect.poll(async () => (await datasetOf(organization))?.items).toBe(3)
  expect(await spanOf(organization, disputed)).toMatchObject({
    approvedOutput: answer(12),
    review: { by: grace.id, basis: 'adjudication' },
  })

  // Calculated by hand: everybody agrees on 2 of 3 outputs. Of 9 pairs of votes, 2 differ: those that include the third
  // reviewer's vote on the disputed output.
  await fourth.goto('/agreement')
  const decisions = fourth.getByRole('region', { name: 'Decisions' })
  await expect(decisions).toContainText('On 67% of 3 outputs, everybody agrees.')
  await expect(decisions).toContainText('78% of 9')
  await expect(fourth.getByRole('link', { name: 'Ada and Mei: 67%. They disagree on 1 output.' })).toBeVisible()
})

test('says what undoing an adjudication does before somebody undoes it', async ({ page, context, anotherBrowser }) => {
  const { organization, spanIds, ada, kofi, mei, grace } = await withPanel()
  const [disputed] = spanIds
  for (const [index, { key }] of [ada, kofi, mei].entries()) {
    const correction = { decision: 'correct', approvedOutput: answer(index + 7) }
    await organization.call('PUT', `/api/spans/${disputed}/review`, correction, key)
  }
  await signIn(context, grace.key)
  await page.goto('/adjudication')
  await showsItem(page, 0)
  await expect(page.getByRole('button', { name: 'Use this vote: Kofi' })).toBeVisible()
  await page.keyboard.press('2')
  await expect(page.getByText('No disputes')).toBeVisible()
  await expect.poll(async () => (await datasetOf(organization))?.items).toBe(1)

  const warning =
    'Decided by an adjudicator. If the decision is undone, these votes no longer count, and reviewers vote again.'
  await page.goto(`/review?project=${organization.project.slug}&span=${disputed}`)
  await expect(page.getByRole('note')).toHaveText(warning)
  const { trace } = v.parse(Located, await organization.call('GET', `/api/spans/${disputed}`))
  await page.goto(`/traces/${trace.id}?span=${disputed}`)
  await expect(page.getByText(warning)).toBeVisible()
  await expect(page.getByRole('region', { name: 'Votes' })).toContainText('Kofi')
  await expectAccessibleOnEveryScreen(page)
  await page.getByRole('button', { name: 'Undo review' }).click()
  await expect(page.getByText("The output's review is complete once 3 reviewers have voted and agree.")).toBeVisible()
  await expect(page.getByRole('region', { name: 'Votes' })).toBeHidden()
  await expect.poll(async () => (await datasetOf(organization))?.items).toBe(0)

  const again = await anotherBrowser(ada.key)
  await again.goto('/review')
  await showsItem(again, 0)
})
