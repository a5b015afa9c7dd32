// The map as a picture, until the figure that lies over it is drawn.
const draw = value => value ? [node('img', {src: value.picture, alt: 'The map is being drawn'})] : [];
document.addEventListener('drawn', ({target}) => {
  if (target.closest('#map-figure')) element.querySelector('.panel').replaceChildren();
});
