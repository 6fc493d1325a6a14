window.courseFigures = window.courseFigures || {}; window.courseFigures["query-key-value"]={render({el}){el.textContent="soon"}};
