import { describe, expect, it } from 'vitest'
import { termsOf } from '../../src/attribution/text/terms.ts'

const readings = (text: string) => termsOf(text).facts.flatMap(fact => fact.readings)
const words = (text: string) => [...termsOf(text).words.keys()]

describe('facts', () => {
  it.for([
    ['1,310.00', ['n:1310']],
    ['1.310,00', ['n:1310']],
    ['1 310,00', ['n:1310']],
    ["1'310.00", ['n:1310']],
    ['1.310', ['n:1310', 'n:1.31']],
    ['4.90', ['n:4.9']],
    ['0.125', ['n:0.125']],
    ['71 %', ['n:71']],
    ['35g', ['n:35']],
    ['81-year-old', ['n:81']],
    ['2026-04-03', ['d:2026-04-03']],
    ['3 April 2026', ['d:2026-04-03']],
    ['April 3, 2026', ['d:2026-04-03']],
    ['3. April 2026', ['d:2026-04-03']],
    ['le 3 avril 2026', ['d:2026-04-03']],
    ['3 de abril de 2026', ['d:2026-04-03']],
    ['3 kwietnia 2026', ['d:2026-04-03']],
    ['2026年4月3日', ['d:2026-04-03']],
    ['令和8年4月3日', ['d:2026-04-03']],
    ['2026년 4월 3일', ['d:2026-04-03']],
    ['03.04.2026', ['d:2026-04-03']],
    ['03/04/2026', ['d:2026-04-03', 'd:2026-03-04']],
    ['on 17 January', ['y:01-17']],
    ['March 2024', ['d:2024-03']],
    ['at 9:05', ['t:09:05']],
    ['pump P-204', ['i:p204']],
    ['order 88-1203', ['i:881203']],
    ['write to care@lumen.example', ['a:care@lumen.example']],
  ] as const)('%s', ([text, expected]) => {
    expect(readings(text)).toEqual(expected)
  })

  it('are extracted once, so the year in a date is not also a separate number', () => {
    expect(readings('14 Nov 2025: 420.00')).toEqual(['d:2025-11-14', 'n:420'])
  })
})

describe('words', () => {
  it('match despite differences in endings, case, or accents', () => {
    expect(words('Réservations')).toEqual(words('reservation'))
  })

  it('are left out if they appear in every text, unless they are names', () => {
    expect(words('The chair is for her')).toEqual(['chair'])
    expect(words('We asked Ben')).toContain('ben')
  })

  it('are recognized as names by their capitalization', () => {
    const names = (text: string) =>
      [...termsOf(text).words.values()].filter(({ isName }) => isName).map(word => word.text)
    expect(names('Then Ruth went home.')).toEqual(['Ruth'])
    expect(names('Am Montag hat der Fahrer das Paket im Lager der Firma gelassen.')).toEqual([])
  })

  it('are found in scripts without spaces', () => {
    expect(words('東京の会議')).toEqual(['東京', '会議'])
    expect(words('김장김치를')).toEqual(words('김장김치'))
  })
})
