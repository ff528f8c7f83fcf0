import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Locator, Page } from '@playwright/test'
import { PROJECT } from '../scripts/server.ts'
import { newOrganization } from './organization.ts'
import { serverUrl } from './server.ts'
import { expect, signIn, test } from './test.ts'

/** The walk in docs/the-loop.md, as written there: using only the keyboard, and without copying any values. */

/** On every page of the walk, reaching the next control takes fewer Tab presses than this. */
const MAX_TABS = 80

/** Lets the example import the client's source, because the tests don't build the client. */
const CLIENT = JSON.stringify(new URL('../../src/client/index.ts', import.meta.url))
const HOOK = `import { registerHooks } from 'node:module'
registerHooks({ resolve: (name, context, next) => next(name === 'countersign/client' ? ${CLIENT} : name, context) })`

/** Runs examples/loop.ts, and returns what it printed. */
async function runExample(key: string, command: 'post' | 'more' | 'run'): Promise<string> {
  const args = ['--import', `data:text/javascript,${encodeURIComponent(HOOK)}`, 'examples/loop.ts', command]
  const env = { PATH: process.env.PATH, COUNTERSIGN_URL: serverUrl(), COUNTERSIGN_KEY: key }
  return (await promisify(execFile)(process.execPath, args, { cwd: PROJECT, env })).stdout
}

/** Presses Tab until a control has the focus. */
async function tabTo(page: Page, control: Locator): Promise<void> {
  await expect(control).toBeVisible()
  for (let tabs = 0; tabs < MAX_TABS; tabs++) {
    if (await control.evaluate(element => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${control} isn't within ${MAX_TABS} tabs`)
}

/** Presses a button or follows a link. */
async function press(page: Page, control: Locator): Promise<void> {
  await expect(control).toBeEnabled()
  await tabTo(page, control)
  await page.keyboard.press('Enter')
}

/** Goes to a section with the command palette. */
async function goTo(page: Page, section: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+k')
  await expect(page.getByRole('textbox', { name: 'Go to' })).toBeFocused()
  await page.keyboard.type(section)
  await expect(page.getByRole('dialog').getByRole('button').first()).toContainText(section)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: section })).toBeVisible()
  // The palette captures all keys until it has closed.
  await expect(page.getByRole('dialog')).toHaveCount(0)
}

async function pressTimes(page: Page, key: string, times: number): Promise<void> {
  for (let left = times; left > 0; left--) await page.keyboard.press(key)
}

async function replaceText(page: Page, text: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+a')
  await page.keyboard.type(text)
}

/** Chooses what's wrong with the output in the inbox, and corrects the output's label from `other` to `returns`. */
async function correctLabel(page: Page): Promise<void> {
  const { keyboard } = page
  const type = page.getByRole('combobox', { name: 'Error type' })
  await keyboard.press('w')
  await tabTo(page, type)
  await keyboard.type('ambiguous g')
  await expect(page.getByRole('listbox').getByRole('option')).toHaveText(['Ambiguous guideline'])
  await keyboard.press('Enter')
  await expect(type).toHaveValue('Ambiguous guideline')
  await keyboard.press('Escape')
  await keyboard.press('e')
  await expect(page.getByRole('textbox', { name: 'Approved output as JSON' })).toBeFocused()
  await keyboard.press('ArrowDown')
  await keyboard.press('End')
  await pressTimes(page, 'ArrowLeft', '",'.length)
  await pressTimes(page, 'Backspace', 'other'.length)
  await keyboard.type('returns')
  await expect(page.getByRole('region', { name: 'Changes', exact: true })).toContainText('returns')
  await keyboard.press('ControlOrMeta+Enter')
  await expect(page.getByRole('region', { name: 'Changes', exact: true })).toHaveCount(0)
}

/** Opens the problem on the board. */
async function openProblem(page: Page): Promise<void> {
  await goTo(page, 'Problems')
  const problem = page.getByRole('main').getByRole('link', { name: 'Ambiguous guideline' })
  await expect(problem).toBeVisible()
  // The palette returns the focus a moment after it closes.
  await expect(async () => {
    await page.keyboard.press('j')
    await expect(problem).toBeFocused({ timeout: 500 })
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(/\/problems\/[^?]/, { timeout: 1_000 })
  }).toPass()
  await expect(page.getByRole('heading', { level: 1, name: 'Ambiguous guideline' })).toBeVisible()
}

/** The state that the problem's page shows. */
const stateOf = (page: Page): Locator => page.getByRole('status', { name: 'State' })

/** Writes a version of the prompt for the problem, with one more label before or after the `billing` line. */
async function writeVersion(page: Page, number: number, place: 'before' | 'after'): Promise<void> {
  await press(page, page.getByRole('link', { name: /^Write (a new|another) version$/ }))
  await tabTo(page, page.getByRole('textbox', { name: 'Content' }))
  const { keyboard } = page
  await keyboard.press('ControlOrMeta+Home')
  await pressTimes(page, 'ArrowDown', place === 'before' ? 3 : 4)
  await keyboard.type('- returns: back, exchange\n')
  await keyboard.press('ControlOrMeta+End')
  await pressTimes(page, 'ArrowLeft', '0 words.'.length)
  await keyboard.press('Backspace')
  await keyboard.type('1')
  await expect(page.getByRole('textbox', { name: 'Content' })).toContainText('at most 10 words.')
  await keyboard.press('Escape')
  await press(page, page.getByRole('button', { name: `Save version ${number}` }))
  await expect(page.getByRole('heading', { level: 1, name: 'Ambiguous guideline' })).toBeVisible()
  await expect(page.getByRole('list', { name: 'Progress' })).toContainText(`Version ${number}`)
  await expect(stateOf(page)).toHaveText('Fixing')
}

/** Starts an experiment on the version that's linked to the problem. */
async function beginExperiment(page: Page): Promise<void> {
  await press(page, page.getByRole('link', { name: 'Run an experiment' }))
  await press(page, page.getByRole('button', { name: 'Start' }))
  await expect(page.getByRole('status').filter({ hasText: '0 of 5' })).toBeVisible()
}

/** Runs the waiting experiment. The walk shows the output of this command. */
async function runExperiment(key: string, printed: string): Promise<void> {
  expect(await runExample(key, 'run')).toContain(`${printed}\n`)
  expect(await readFile(join(PROJECT, 'docs/the-loop.md'), 'utf8')).toContain(`\n${printed}\n`)
}

test('a correction leads to a lasting fix, using only the keyboard', async ({ page, context }) => {
  test.setTimeout(240_000)
  const organization = await newOrganization()
  const { project, key } = organization
  const ada = await organization.reviewer('Ada', ['read', 'review', 'manage'])
  const { keyboard } = page
  const result = page.getByRole('region', { name: 'Result' })
  const gate = page.getByRole('region', { name: 'Gate' })
  const items = page.getByRole('list', { name: 'Items' }).getByRole('listitem')
  const progress = page.getByRole('list', { name: 'Progress' })
  const versions = page.getByRole('navigation', { name: 'Versions' })
  const activeVersion = versions.getByRole('link').filter({ hasText: 'Active' })
  await signIn(context, ada.key)

  expect(await runExample(key, 'post')).toContain('Posted 10 tickets')
  await page.goto(`/review?project=${project.slug}&stepId=sort-ticket`)
  const output = page.getByRole('region', { name: 'Output', exact: true })
  /**
   * Decides on `count` outputs, which is how many the example has posted. They have the same start time, so their order
   * varies.
   */
  const review = async (count: number) => {
    const seen: string[] = []
    while (seen.length < count) {
      await expect
        .poll(async () => {
          const shown = (await output.textContent()) ?? ''
          return shown.includes('summary') && !seen.includes(shown)
        })
        .toBe(true)
      const shown = (await output.textContent()) ?? ''
      seen.push(shown)
      if (/lamp back|shoes|shirt|kettle/.test(shown)) await correctLabel(page)
      else await keyboard.press('a')
    }
    await expect(page.getByText('All done. Nice work!')).toBeVisible()
  }
  await review(10)

  await openProblem(page)
  await expect(stateOf(page)).toHaveText('Open')
  const examples = page.getByRole('region', { name: 'Examples' })
  await expect(page.getByRole('link', { name: '4 affected outputs' })).toBeVisible()
  await expect(examples.getByRole('status')).toHaveText('1 of 4')
  await keyboard.press('j')
  await expect(examples.getByRole('status')).toHaveText('2 of 4')
  await press(page, page.getByRole('button', { name: 'Assign to me' }))
  await expect(page.getByRole('button', { name: 'Unassign' })).toBeVisible()

  await goTo(page, 'Datasets')
  await press(page, page.getByRole('link', { name: '4 corrected items in sort-ticket' }))
  await expect(page.getByRole('table', { name: 'Items' }).getByRole('row')).toHaveCount(5)

  await goTo(page, 'Prompts')
  await press(page, page.getByRole('list', { name: 'Prompts' }).getByRole('link', { name: /sort-ticket/ }))
  await press(page, gate.getByRole('button', { name: 'Set a gate' }))
  const dialog = page.getByRole('dialog')
  for (const [label, value] of [
    ['Minimum judged items', '5'],
    ['Maximum regressed items', '0'],
    ['Maximum unjudged items', '0'],
  ] as const) {
    await tabTo(page, dialog.getByLabel(label))
    await replaceText(page, value)
  }
  await keyboard.press('Enter')
  await expect(gate).toContainText('at least 5 judged items in the test split, no regressions, and no unjudged items')
  await expect(dialog).toHaveCount(0)

  await openProblem(page)
  await writeVersion(page, 2, 'before')
  await beginExperiment(page)
  await runExperiment(key, '3 passed, 1 failed, 1 unjudged; 3 fixed, 1 regressed')
  for (const count of ['3 fixed', '1 regressed', '1 unjudged']) {
    await expect(result.getByRole('link', { name: count })).toBeVisible()
  }
  await expect(items.nth(0)).toContainText('Unjudged')
  await expect(items.nth(0)).toContainText('The invoice that you sent me has my old address')
  await expect(items.nth(1)).toContainText('Regressed')
  await expect(items.nth(1)).toContainText('I want my money back')

  await press(page, page.getByRole('link', { name: 'Version 2' }))
  await expect(gate).toContainText('4 items are judged; the gate requires at least 5.')
  await expect(gate).toContainText('1 item regressed; the gate allows none.')
  await expect(gate).toContainText('1 item is unjudged; the gate allows none.')
  await press(page, page.getByRole('button', { name: 'Activate version 2' }))
  await expect(dialog).toContainText('1 item regressed; the gate allows none.')
  await expect(dialog.getByRole('button', { name: 'Activate anyway' })).toBeDisabled()
  await keyboard.press('Escape')
  await expect(dialog).toHaveCount(0)
  await expect(activeVersion).toContainText('Version 1')

  await openProblem(page)
  await expect(progress).toContainText('3 of 3 test items for this problem are fixed')
  await writeVersion(page, 3, 'after')
  await beginExperiment(page)
  await runExperiment(key, '4 passed, 0 failed, 1 unjudged; 3 fixed, 0 regressed')
  await expect(items.nth(0)).toContainText('Unjudged')
  await keyboard.press('a')
  await expect(result).toContainText('5 of 5 judged')
  await expect(page.getByRole('status').filter({ hasText: 'The gate is met' })).toBeVisible()

  await press(page, page.getByRole('link', { name: 'Problem', exact: true }))
  await expect(stateOf(page)).toHaveText('Proven')
  await press(page, page.getByRole('button', { name: 'Activate version 3' }))
  await press(page, dialog.getByRole('button', { name: 'Activate version 3' }))
  await expect(stateOf(page)).toHaveText('Live')

  expect(await runExample(key, 'more')).toContain('Posted 20 tickets')
  await press(page, page.getByRole('link', { name: 'Review its outputs' }))
  await review(20)
  await openProblem(page)
  await expect(stateOf(page)).toHaveText('Verified')
  await expect(progress).toContainText('Before: 6 of 10 accepted (60%). Now: 20 of 20 accepted (100%).')
  await press(page, progress.getByRole('link', { name: '6 accepted, before' }))
  await expect(page.getByRole('table', { name: 'Spans' }).getByRole('row')).toHaveCount(7)
  await openProblem(page)

  await press(page, page.getByRole('link', { name: 'Version 3' }))
  await expect(activeVersion).toContainText('Version 3')
  await press(page, versions.getByRole('link', { name: 'Version 1' }))
  await press(page, page.getByRole('button', { name: 'Roll back to version 1' }))
  await expect(activeVersion).toContainText('Version 1')
})
