"""How the page looks: one column, quiet colours, light or dark as the reader has it, printable.

Charts take their colours from the same variables.
"""

_LIGHT = (
    "--page:#f6f7f9;--paper:#ffffff;--ink:#1c2128;--soft:#59626e;--faint:#dde1e6;"
    "--good:#1a7f4b;--good-paper:#e6f5ec;--bad:#a8173a;--bad-paper:#fbe9ed;"
    "--calm:#0b62b8;--calm-paper:#e8f1fb;"
    "--series-0:#0b62b8;--series-1:#b8500b;--series-2:#1a7f4b;"
    "--series-3:#8b3fa8;--series-4:#a8173a;--series-5:#5f6570"
)
_DARK = (
    "--page:#0d1014;--paper:#14181d;--ink:#e3e7ec;--soft:#9aa4b1;--faint:#2c333c;"
    "--good:#5fd39a;--good-paper:#12291e;--bad:#ff8fa3;--bad-paper:#33161d;"
    "--calm:#6cb2ff;--calm-paper:#12243a;"
    "--series-0:#6cb2ff;--series-1:#ffa657;--series-2:#5fd39a;"
    "--series-3:#d3a0f0;--series-4:#ff8fa3;--series-5:#b4bac4"
)

CSS = f"""\
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--page);color:var(--ink);
  font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;-webkit-text-size-adjust:100%}}
main{{max-width:860px;margin:0 auto;padding:32px 20px 72px}}
h1{{font-size:1.5rem;line-height:1.35;font-weight:500;margin:.5rem 0 .75rem;text-wrap:pretty}}
h1 strong{{font-weight:700}}
h2{{font-size:1.15rem;margin:0 0 .75rem}}
h3{{font-size:1rem;margin:0 0 .5rem}}
p{{margin:.5rem 0}}
ul{{margin:.5rem 0;padding-left:1.2rem}}
li{{margin:.25rem 0}}
section{{background:var(--paper);border:1px solid var(--faint);border-radius:10px;
  padding:20px 24px;margin:16px 0}}
.hero{{border-radius:12px;padding:24px 28px;margin-bottom:24px;border:1px solid var(--faint);
  border-left:6px solid var(--mood);background:var(--mood-paper)}}
.good{{--mood:var(--good);--mood-paper:var(--good-paper)}}
.calm{{--mood:var(--calm);--mood-paper:var(--calm-paper)}}
.eyebrow{{color:var(--soft);font-size:.85rem;margin:0}}
.pill{{display:inline-block;margin-left:.6rem;padding:.05rem .6rem;border-radius:999px;
  border:1px solid var(--mood);color:var(--mood);font-weight:600}}
.reason,.quiet,figcaption,summary{{color:var(--soft)}}
.reason{{margin:0}}
.quiet,figcaption{{font-size:.9rem}}
.figures{{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:16px;
  margin:20px 0 0;padding-top:16px;border-top:1px solid var(--faint)}}
.figures dt{{color:var(--soft);font-size:.85rem}}
.figures dd{{margin:0}}
.figures b{{display:block;font-size:1.6rem;line-height:1.25;font-weight:650;
  font-variant-numeric:tabular-nums}}
.figures small{{color:var(--soft);font-size:.8rem}}
.divider{{margin:40px 0 4px;font-size:1.3rem}}
.facts{{display:grid;grid-template-columns:minmax(120px,max-content) 1fr;gap:6px 20px;margin:0}}
.facts dt{{color:var(--soft);max-width:17rem}}
.facts dd{{margin:0;min-width:0;overflow-wrap:anywhere}}
code,pre{{font:.9em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}}
code{{overflow-wrap:anywhere}}
pre{{background:var(--page);border:1px solid var(--faint);border-radius:8px;padding:12px 14px;
  margin:.75rem 0;overflow-x:auto}}
pre code{{font-size:.85rem;overflow-wrap:normal}}
.diff span{{display:block;padding:0 6px;margin:0 -6px}}
.added{{background:var(--good-paper);color:var(--good)}}
.removed{{background:var(--bad-paper);color:var(--bad)}}
.place{{color:var(--soft)}}
.scroll{{overflow-x:auto;max-width:100%}}
table{{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}}
th{{text-align:left;color:var(--soft);font-weight:500;font-size:.85rem;white-space:nowrap}}
td code{{overflow-wrap:break-word}}
th,td{{padding:7px 14px 7px 0;border-bottom:1px solid var(--faint);vertical-align:top}}
tbody tr:last-child td{{border-bottom:0}}
td svg{{display:block;margin-top:3px}}
figure{{margin:16px 0}}
figure svg{{display:block;max-width:100%;height:auto}}
.scroll>svg{{min-width:600px}}
.gallery{{display:grid;grid-template-columns:repeat(auto-fill,minmax(280px,1fr));gap:12px}}
.gallery svg{{width:100%}}
figcaption{{margin-top:6px}}
details{{margin:12px 0 0}}
summary{{cursor:pointer;font-size:.92rem}}
summary:hover{{color:var(--ink)}}
@media (max-width:600px){{
  main{{padding:12px 10px 40px}}
  .hero,section{{padding:16px}}
  h1{{font-size:1.2rem}}
  .figures{{grid-template-columns:1fr 1fr}}
  .figures b{{font-size:1.3rem}}
  .facts{{display:block}}
  .facts dd{{margin-bottom:10px}}
  td svg{{display:none}}
}}
@media print{{
  :root{{color-scheme:light;{_LIGHT};--page:#ffffff}}
  main{{max-width:none;padding:0}}
  section,.hero,figure,tr{{break-inside:avoid}}
  section{{border:0;padding:0;margin:20px 0}}
  h2,h3{{break-after:avoid}}
  .scroll{{overflow:visible}}
  details::details-content{{content-visibility:visible;height:auto}}
  *{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
}}
"""
